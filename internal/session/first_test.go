package session

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/wire"
)

// Of a method that was never called few handlers run until the length of one reply is known: what the first calls return
// is bounded as what later ones return, though all of them come at once.
func TestFirstReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, size, most = 2000, 64 << 10, 16 << 20
		var running, peak, refused atomic.Int32
		answer := unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) {
			n := running.Add(1)
			for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
			}
			time.Sleep(backlog.SlowFirst / 2)
			running.Add(-1)
			return make([]byte, size), nil
		})
		r := newRig(t, setup{bubble: true, server: func(c *Config) { c.Memory = held.New(most) }}, answer)
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				st := do(context.Background(), r.client, newCall("Get.Large", nil, nil))
				if st == nil {
					return
				}
				refused.Add(1)
				if st.Code != wire.ResourceExhausted || st.Outcome != wire.Refused {
					t.Errorf("a call for whose reply there is no room ended with %+v", st)
				}
			})
		}
		wg.Wait()
		if p := peak.Load(); p > backlog.FewFirst+most/size || p < backlog.FewFirst {
			t.Errorf("%d handlers ran at once, want about %d", p, most/size*3/4)
		}
		t.Logf("%d handlers ran at once, %d of %d calls were refused", peak.Load(), refused.Load(), calls)
	})
}

// Handlers that take long hold up the first calls of their method for a moment only.
func TestFirstCallsThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, each = 1000, time.Minute
		sleep := unary("Sleep.Long", func(*Context, []byte) ([]byte, *wire.Status) { time.Sleep(each); return nil, nil })
		r := newRig(t, setup{bubble: true}, sleep)
		began := time.Now()
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if st := do(context.Background(), r.client, newCall("Sleep.Long", nil, nil)); st != nil {
					t.Errorf("a call ended with %+v", st)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > each+time.Second {
			t.Errorf("%d calls of %v each took %v", calls, each, took)
		}
	})
}

// A method whose replies were long once, and are short since, does not count with the long ones for good.
func TestLongRepliesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := true
		m := unary("Get.Some", func(*Context, []byte) ([]byte, *wire.Status) {
			time.Sleep(time.Millisecond) // so that its calls run on workers
			if long {
				long = false
				return make([]byte, 1<<20), nil
			}
			return make([]byte, 200), nil
		})
		r := newRig(t, setup{bubble: true}, m)
		get := func() {
			if st := do(context.Background(), r.client, newCall("Get.Some", nil, nil)); st != nil {
				t.Fatalf("a call ended with %+v", st)
			}
		}
		get()
		if n := m.expects(); n < 1<<20 {
			t.Fatalf("a call counts %d bytes after a long reply", n)
		}
		for range 200 {
			get()
		}
		if n := m.expects(); n != 0 {
			t.Errorf("a call counts %d bytes after many short replies", n)
		}
	})
}
