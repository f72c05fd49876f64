package weft_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// journal notes the calls of each key in the order in which they ran.
type journal struct {
	mu      sync.Mutex
	ran     map[string][]int
	running map[string]bool
	overlap atomic.Int64
	hold    func(key string, n int) // what a call does meanwhile
}

// Entry is one call.
type Entry struct {
	Key  string
	N    int
	Fill string
}

func (j *journal) begin(e *Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ran == nil {
		j.ran, j.running = make(map[string][]int), make(map[string]bool)
	}
	if j.running[e.Key] {
		j.overlap.Add(1)
	}
	j.running[e.Key] = true
	j.ran[e.Key] = append(j.ran[e.Key], e.N)
}

func (j *journal) Note(_ context.Context, e *Entry) (*Product, error) {
	j.begin(e)
	if j.hold != nil {
		j.hold(e.Key, e.N)
	}
	j.mu.Lock()
	j.running[e.Key] = false
	j.mu.Unlock()
	if e.N%7 == 0 {
		return nil, weft.Errorf(weft.Aborted, "a call that fails")
	}
	return &Product{}, nil
}

// Also is another method, to be called in one order with Note.
func (j *journal) Also(ctx context.Context, e *Entry) (*Product, error) { return j.Note(ctx, e) }

// count is how many calls of a key have begun.
func (j *journal) count(key string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.ran[key])
}

// check fails the test unless the calls of a key ran in order, each once, n of them.
func (j *journal) check(t *testing.T, key string, n int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	ran := j.ran[key]
	if len(ran) != n {
		t.Errorf("%d calls of key %q ran, want %d", len(ran), key, n)
	}
	for i := 1; i < len(ran); i++ {
		if ran[i] <= ran[i-1] {
			t.Errorf("call %d of key %q ran behind call %d", ran[i], key, ran[i-1])
			return
		}
	}
	if j.overlap.Load() != 0 {
		t.Errorf("%d calls of one key began while another ran", j.overlap.Load())
	}
}

func journaled(j *journal) func(s *weft.Server) error {
	return func(s *weft.Server) error { return s.RegisterName("Journal", j) }
}

// One-way calls of one key run one after the other in the order in which they were made,
// whatever their handlers do and however long the requests are, and calls of other keys run
// beside them.
func TestOrderedNotify(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int
		hold func(string, int)
		fill func(n int) string
		opts []weft.CallOption
	}{
		{name: "quick", n: 5000},
		{name: "some stall", n: 5000, hold: func(_ string, n int) {
			if n%250 == 17 {
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{name: "large among small", n: 2000, fill: func(n int) string {
			if n%50 == 3 {
				return strings.Repeat("x", 100_000)
			}
			return ""
		}},
		{name: "compressed", n: 300, opts: []weft.CallOption{weft.WithCompressor(gzip.New())}, fill: func(n int) string { return strings.Repeat("y", n%4000) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &journal{hold: tt.hold}
			w := start(t, &weft.ServerConfig{Compressors: []compress.Compressor{gzip.New()}}, journaled(j))
			c := w.dial(nil)
			ctx := t.Context()
			var wg sync.WaitGroup
			for _, key := range []string{"a", "b", ""} {
				wg.Go(func() {
					opts := append([]weft.CallOption{weft.WithOrder(key), weft.WithTimeout(time.Minute)}, tt.opts...)
					for n := range tt.n {
						e := &Entry{Key: key, N: n}
						if tt.fill != nil {
							e.Fill = tt.fill(n)
						}
						method := "Journal.Note"
						if n%3 == 0 {
							method = "Journal.Also"
						}
						if err := c.Notify(ctx, method, e, opts...); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			must(t, c.Shutdown(ctx)) // which waits for all
			for _, key := range []string{"a", "b", ""} {
				j.check(t, key, tt.n)
			}
		})
	}
}

// A call that takes long holds up the calls of its own key alone.
func TestOrderedNotifyHoldsOthersNotUp(t *testing.T) {
	release := make(chan struct{})
	j := &journal{hold: func(key string, n int) {
		if key == "slow" && n == 1 {
			<-release
		}
	}}
	c := start(t, nil, journaled(j)).dial(nil)
	ctx := t.Context()
	for n := range 20 {
		for _, key := range []string{"slow", "quick"} {
			must(t, c.Notify(ctx, "Journal.Note", &Entry{Key: key, N: n}, weft.WithOrder(key)))
		}
	}
	polltest.True(t, time.Minute, "the calls of the other key", func() bool { return j.count("quick") == 20 })
	must(t, c.Call(ctx, "Journal.Note", &Entry{Key: "none", N: 1}, &Product{}))
	if n := j.count("slow"); n != 2 {
		t.Errorf("%d calls have begun behind one that has not ended", n-2)
	}
	close(release)
	must(t, c.Shutdown(ctx))
	j.check(t, "slow", 20)
}

// Calls that end before their turn are left out, and the others keep their order; a shutdown of
// the server lets them all run.
func TestOrderedNotifyLeavesOut(t *testing.T) {
	release := make(chan struct{})
	j := &journal{hold: func(_ string, n int) {
		if n == 0 {
			<-release
		}
	}}
	w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxOrdered: 40}}, journaled(j))
	c := w.dial(nil)
	ctx := t.Context()
	note := func(n int, opts ...weft.CallOption) {
		t.Helper()
		err := c.Notify(ctx, "Journal.Note", &Entry{Key: "k", N: n}, append(opts, weft.WithOrder("k"))...)
		if len(opts) == 0 || weft.CodeOf(err) != weft.DeadlineExceeded { // on a busy machine the time is over before it is sent
			must(t, err)
		}
	}
	note(0)
	polltest.True(t, time.Minute, "the first call", func() bool { return j.count("k") == 1 })
	for n := 1; n <= 40; n++ {
		switch n % 4 {
		case 1:
			note(n, weft.WithTimeout(time.Millisecond)) // ends before its turn
		case 2:
			must(t, c.Notify(ctx, "Journal.Nothing", &Entry{}, weft.WithOrder("k"))) // takes no place
			note(n)
		default:
			note(n)
		}
	}
	n := 40
	polltest.True(t, time.Minute, "a refused call", func() bool {
		n++ // one too many, unless some of the 40 were not sent because their time was over
		note(n)
		return w.srv.Stats().Refused[weft.ReasonTooManyCalls] > 0
	})
	time.Sleep(10 * time.Millisecond) // the timeouts of some pass; which of them does not matter
	go close(release)                 // this goroutine ends at once
	must(t, w.srv.Shutdown(ctx))
	if n := j.count("k"); n < 31 || n > 41 {
		t.Errorf("%d calls ran, want 31, or a few more whose time was not over", n)
	}
	j.check(t, "k", j.count("k"))
}

// Several connections do not change the order, and a server can call its clients so.
func TestOrderedNotifyDirections(t *testing.T) {
	j, back := &journal{}, &journal{}
	services := weft.NewServices()
	must(t, services.RegisterName("Journal", back))
	w := start(t, nil, journaled(j))
	c := w.dial(&weft.ClientConfig{MaxConns: 4, Services: services})
	ctx := t.Context()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 600 { // more than makes a client use its other connections
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = c.Call(ctx, "Journal.Note", &Entry{Key: "none", N: 1}, &Product{})
				}
			}
		})
	}
	peer := w.srv.Peers()[0]
	for n := range 1000 {
		must(t, c.Notify(ctx, "Journal.Note", &Entry{Key: "k", N: n}, weft.WithOrder("k")))
		must(t, peer.Notify(ctx, "Journal.Note", &Entry{Key: "k", N: n}, weft.WithOrder("k")))
	}
	close(stop)
	wg.Wait()
	polltest.True(t, time.Minute, "all calls", func() bool { return j.count("k") == 1000 && back.count("k") == 1000 })
	j.overlap.Store(0) // of the calls without an order
	j.check(t, "k", 1000)
	back.check(t, "k", 1000)
}

// What has no order is told so.
func TestOrderIsForOneWayCalls(t *testing.T) {
	w := start(t, nil, echo)
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	ctx := t.Context()
	body := []byte("x")
	wantError(t, c.Call(ctx, "Raw.Echo", &body, nil, weft.WithOrder("k")), weft.InvalidArgument, weft.NotSent, "one-way")
	wantError(t, c.Notify(ctx, "Raw.Echo", &body, weft.WithOrder(strings.Repeat("k", 256))), weft.InvalidArgument, weft.NotSent, "256 bytes")
	_, err := c.OpenStream(ctx, "Raw.Echo", &body, weft.WithOrder("k"))
	wantError(t, err, weft.InvalidArgument, weft.NotSent, "one-way")
	must(t, c.Notify(ctx, "Raw.Echo", &body, weft.WithOrder(strings.Repeat("k", 255))))

	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}})
	must(t, srv.Register(Arith{}))
	_, port, _ := strings.Cut(serve(t, srv, "tcp://127.0.0.1:0"), "://")
	foreign, err := weft.Dial(ctx, "netrpc://"+port, &weft.ClientConfig{Wires: []weft.Wire{netrpc.Wire()}})
	must(t, err)
	defer foreign.Close()
	wantError(t, foreign.Notify(ctx, "Arith.Mul", &Args{7, 8}, weft.WithOrder("k")), weft.Unimplemented, weft.NotSent, "netrpc")
}
