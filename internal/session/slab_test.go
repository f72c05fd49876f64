package session

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
)

// TestContextsWithMetadataAreNotKept keeps the context of a call, as a handler may: that of another call that was a stream or had
// metadata goes with its call.
func TestContextsWithMetadataAreNotKept(t *testing.T) {
	for name, flags := range map[string]wire.Flags{"metadata": wire.FlagMeta, "stream": wire.FlagStream} {
		rd := new(reader)
		kept := rd.newContext(0)
		gone := func() weak.Pointer[Context] { return weak.Make(rd.newContext(flags)) }()
		polltest.True(t, time.Minute, "the context of a call with "+name+" is collected", func() bool {
			runtime.GC()
			return gone.Value() == nil
		})
		runtime.KeepAlive(kept)
		runtime.KeepAlive(rd)
	}
}
