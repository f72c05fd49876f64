package cluster_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// lockedBuffer is a buffer for a logger that several goroutines use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A server that shuts down, and is listed all the same, is no warning at its clients.
func TestShutdownIsExpected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged lockedBuffer
		f := newFleet(t)
		f.listed("a")
		a := f.serve("a")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		who(t, t.Context(), c)
		must(t, a.Shutdown(t.Context()))
		for range 5 {
			c.Call(t.Context(), "Who.Who", &Args{}, &Reply{})
			time.Sleep(10 * time.Second)
		}
		text := logged.String()
		if strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") || !strings.Contains(text, "server lost") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// Explain names no server while a call fails because none can be reached.
func TestExplainOfAFailure(t *testing.T) {
	for _, mode := range []cluster.FailMode{cluster.Failover, cluster.Failtry} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.listed("a", "b")
			c := f.client(func(cfg *cluster.Config) { cfg.FailMode = mode })
			for range 4 {
				_ = c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}, weft.WithTimeout(time.Second))
			}
			synctest.Wait()
			wantError(t, c.Call(t.Context(), "Who.Who", &Args{}, &Reply{}), weft.Unavailable, weft.NotSent)
			e := c.Explain(t.Context(), "Who.Who", &Args{})
			if e.Pick != "" {
				t.Errorf("%v: Explain names %s", mode, e.Pick)
			}
			wantError(t, e.Err, weft.Unavailable, weft.NotSent, "none of the 2 known servers")
		})
	}
}
