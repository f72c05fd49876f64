package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// Calls that wait for a processor are answered, each with its reply, while processors become scarce and plentiful again; those that wait in
// their handlers hold none of the others up.
func TestScarce(t *testing.T) {
	var scarce atomic.Bool
	release := make(chan struct{})
	r := newRig(t, setup{server: func(c *Config) { c.Exec.Scarce, c.Exec.Beyond = scarce.Load, scarce.Load }},
		unary("Work.Do", func(_ *Context, b []byte) ([]byte, *wire.Status) {
			for from := time.Now(); time.Since(from) < 50*time.Microsecond; {
			}
			return b, nil
		}),
		unary("Work.Wait", func(_ *Context, b []byte) ([]byte, *wire.Status) {
			<-release
			return b, nil
		}))
	scarce.Store(true)
	var waiting, all sync.WaitGroup
	call := func(method, body string) {
		var reply []byte
		if st := do(context.Background(), r.client, newCall(method, []byte(body), &reply)); st != nil || string(reply) != body {
			t.Errorf("%s of %q: got %q, %+v", method, body, reply, st)
		}
	}
	for i := range 20 {
		waiting.Go(func() { call("Work.Wait", fmt.Sprint("waits ", i)) })
	}
	for i := range 16 {
		all.Go(func() {
			for n := range 100 {
				call("Work.Do", fmt.Sprint(i, " ", n))
				if n%30 == 0 {
					scarce.Store(!scarce.Load())
				}
			}
		})
	}
	all.Wait()
	close(release)
	waiting.Wait()
}
