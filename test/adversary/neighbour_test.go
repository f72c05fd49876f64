//go:build unix

package adversary

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
)

// callers is how many callers an honest client has.
const callers = 4

// patience is the deadline of the neighbours' calls.
const patience = 5 * time.Second

// neighbours are callers of a server that is attacked, on one connection, and clients that come
// to it meanwhile.
type neighbours struct {
	t       *testing.T
	address string
	c       *weft.Client
}

// view is what the neighbours have seen for a while.
type view struct {
	took             time.Duration
	good, bad        int
	times            []time.Duration // of good calls
	came, turnedAway int             // newcomers
	last             error
}

func (v *view) rate() float64 { return float64(v.good) / v.took.Seconds() }

func (v *view) quantile(q float64) time.Duration {
	if len(v.times) == 0 {
		return 0
	}
	slices.Sort(v.times)
	return v.times[int(float64(len(v.times)-1)*q)]
}

func newNeighbours(t *testing.T, address string) *neighbours {
	t.Helper()
	c, err := weft.Dial(t.Context(), "tcp://"+address, quiet(&weft.ClientConfig{MaxConns: 1}))
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return &neighbours{t, address, c}
}

func quiet(c *weft.ClientConfig) *weft.ClientConfig {
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

// watch calls until the channel is closed.
func (n *neighbours) watch(until <-chan struct{}) *view {
	v := new(view)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ended atomic.Bool
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for !ended.Load() {
				took, err := n.call(n.c)
				mu.Lock()
				if err == nil {
					v.good++
					v.times = append(v.times, took)
				} else {
					v.bad++
					v.last = err
				}
				if took > patience+time.Second {
					n.t.Errorf("a call with a deadline of %v took %v", patience, took)
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Go(func() {
		for !ended.Load() {
			err := n.arrive()
			mu.Lock()
			v.came++
			if err != nil {
				v.turnedAway++
				v.last = err
			}
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
		}
	})
	<-until
	ended.Store(true)
	v.took = time.Since(began)
	wg.Wait()
	return v
}

// call makes one call and checks the reply.
func (n *neighbours) call(c *weft.Client) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	var reply []byte
	err := c.Call(ctx, "Adv.Echo", []byte("hello"), &reply, weft.WithCodec(raw.New()))
	if err == nil && string(reply) != "hello" {
		n.t.Errorf("the reply is %q", reply)
	}
	return time.Since(began), err
}

// arrive is a client that comes, makes one call and goes.
func (n *neighbours) arrive() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c, err := weft.Dial(ctx, "tcp://"+n.address, quiet(&weft.ClientConfig{MaxConns: 1, NoWaitForReady: true}))
	if err != nil {
		return err
	}
	defer c.Close()
	var reply []byte
	return c.Call(ctx, "Adv.Echo", []byte("hello"), &reply, weft.WithCodec(raw.New()))
}

// state asks the server how it is.
func (n *neighbours) state(method string) State {
	n.t.Helper()
	var err error
	for range 20 {
		var s *State
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		s, err = weft.Invoke[State](ctx, n.c, method, &Number{})
		cancel()
		if err == nil {
			return *s
		}
		time.Sleep(100 * time.Millisecond)
	}
	n.t.Fatalf("the server does not answer: %v", err)
	return State{}
}
