package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// An error that equal calls share has a name of its own: that of the call which was made may be in memory that is used again.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCache(t, cache.Config{}).Plugin()
		call := func(method string, next weft.UnaryFunc) <-chan error {
			ended := make(chan error, 1)
			go func() {
				info := &weft.CallInfo{Method: method, Codec: "msgpack", Reply: new(plugintest.Result)}
				_, err := p.Client(t.Context(), info, &plugintest.Args{A: 1}, next)
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		memory, fail := []byte("Arith.Fail"), make(chan bool)
		first := call(unsafe.String(&memory[0], len(memory)), func(_ context.Context, info *weft.CallInfo, _ any) (any, error) {
			<-fail
			return nil, &weft.Error{Code: weft.NotFound, Outcome: weft.Executed, Method: info.Method, Message: "none"}
		})
		second := call("Arith.Fail", nil) // it waits for the first
		close(fail)
		<-first
		clear(memory)
		err := <-second
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.NotFound || e.Method != "Arith.Fail" {
			t.Errorf("the second call has the error %v", err)
		}
	})
}
