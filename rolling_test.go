package weft_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// register records what was done, so that nothing is done twice unseen. It outlives
// the servers.
type register struct {
	mu   sync.Mutex
	done map[int]int // how often, by number
}

func (r *register) Do(_ context.Context, id *int) (*int, error) {
	r.mu.Lock()
	r.done[*id]++
	r.mu.Unlock()
	time.Sleep(rand.N(10 * time.Millisecond))
	return id, nil
}

// Servers replace one another on one address while 64 callers call without a pause.
// No call fails, none is lost, none is done twice, though no method is marked as
// one that could be called again.
func TestRollingRestart(t *testing.T) {
	const callers, generations, each = 64, 8, 300 * time.Millisecond
	r := &register{done: make(map[int]int)}
	addr := "tcp://127.0.0.1:0"
	generation := func() *weft.Server {
		srv := weft.NewServer(nil)
		must(t, srv.RegisterName("Work", r))
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			l, err := srv.Listen(t.Context(), addr)
			if err == nil {
				addr = "tcp://" + l.Addr().String()
				go srv.Serve(l) // this goroutine ends with the server
				return srv
			}
			if time.Since(began) > time.Minute { // the one before has not closed it
				t.Fatal(err)
			}
		}
	}
	srv := generation()
	c := dial(t, addr, nil)

	var stop atomic.Bool
	var next atomic.Int64
	var notified, called sync.Map
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for !stop.Load() {
				id := int(next.Add(1))
				if caller%8 == 0 {
					if err := c.Notify(t.Context(), "Work.Do", &id); err != nil {
						t.Errorf("notification %d: %v", id, err)
					}
					notified.Store(id, true)
					time.Sleep(time.Millisecond)
					continue
				}
				got, err := weft.Invoke[int](t.Context(), c, "Work.Do", &id)
				if err != nil || *got != id {
					t.Errorf("call %d: %v, %v", id, got, err)
				}
				called.Store(id, true)
			}
		})
	}
	for range generations {
		time.Sleep(each)
		old, drained := srv, make(chan error, 1)
		go func() { drained <- old.Shutdown(context.Background()) }() // this goroutine ends with the drain
		srv = generation()
		must(t, <-drained)
	}
	stop.Store(true)
	wg.Wait()
	must(t, errors.Join(c.Shutdown(t.Context()), srv.Shutdown(t.Context())))

	total := int(next.Load())
	if total < 1000 {
		t.Errorf("only %d calls were made", total)
	}
	for id := 1; id <= total; id++ {
		_, call := called.Load(id)
		_, note := notified.Load(id)
		if n := r.done[id]; n != 1 || call == note {
			t.Errorf("%d was done %d times (call %v, notification %v)", id, n, call, note)
		}
	}
	t.Logf("%d calls over %d generations", total, generations+1)
}

// A client that shuts down under load leaves nothing in doubt: a call has gone well
// and was done once, or it was never sent and was not done.
func TestClientShutdownUnderLoad(t *testing.T) {
	r := &register{done: make(map[int]int)}
	w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Work", r) })
	var next atomic.Int64
	for range 20 {
		c := w.dial(nil)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for {
					id := int(next.Add(1))
					err := c.Call(t.Context(), "Work.Do", &id, nil)
					r.mu.Lock()
					n := r.done[id]
					r.mu.Unlock()
					if err != nil {
						wantError(t, err, weft.Canceled, weft.NotSent, "closed")
					}
					if done := err == nil; n > 1 || done != (n == 1) {
						t.Errorf("call %d was done %d times and ended with %v", id, n, err)
					}
					if err != nil {
						return
					}
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		must(t, c.Shutdown(t.Context()))
		wg.Wait()
	}
}
