package session

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// modelTime is how long one run of the model lasts.
const modelTime = 900 * time.Millisecond

// Goroutines on both sides do everything that can be done, in random order, within
// tight limits. Every call must end once, with a result that fits, and at the end
// nothing may be left.
func TestModel(t *testing.T) {
	for i, tc := range []struct {
		name   string
		change func(c *Config)
		lone   bool // the client serves nothing: its callers may read for themselves
		pipe   int
	}{
		{"tight", func(c *Config) {
			l := &c.Limits
			l.MaxCalls, l.MaxBindings, l.StreamWindow, l.WriteBuffer, l.MaxCallBytes = 40, 4, 3000, 20_000, 400_000
		}, false, 6_000},
		{"checksum", func(c *Config) { c.Checksum = true; c.Limits.MaxCalls = 1000 }, false, 64 << 10},
		{"lone", func(c *Config) { c.Limits.MaxCalls = 40 }, true, 64 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seed := uint64(20_26 + i)
			m := &model{t: t, seed: seed, stop: make(chan struct{})}
			r := newRig(t, setup{client: func(c *Config) {
				tc.change(c)
				if tc.lone {
					c.Resolve = nil
				}
			}, server: tc.change, pipe: &mem.PipeConfig{Buffer: tc.pipe}}, m.methods()...)
			m.run(r, tc.lone)
			if m.good.Load() < 100 {
				t.Errorf("only %d operations went well", m.good.Load())
			}
			t.Logf("seed %d: %d operations, %d went well", seed, m.begun.Load(), m.good.Load())
		})
	}
}

type model struct {
	t     *testing.T
	seed  uint64
	stop  chan struct{}
	begun atomic.Int64
	ended atomic.Int64
	good  atomic.Int64
}

func (m *model) methods() []*Method {
	nest := unary("Nest.Down", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		if len(b) < 2 {
			return b, nil
		}
		var reply []byte
		c := newCall("Nest.Down", bytes.Clone(b[1:]), &reply)
		c.Timeout = int64(5 * time.Second)
		if st := do(ctx, ctx.Session, c); st != nil {
			st.Outcome = wire.Executed
			return nil, st
		}
		return append(reply, b[0]), nil
	})
	uneven := unary("Be.Uneven", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		if len(b) > 0 && b[0] == 0 {
			time.Sleep(time.Duration(len(b)) * 100 * time.Microsecond)
		}
		return b, nil
	})
	return []*Method{echo(), chat(), wait(), nest, uneven, unary("Fail.Always", func(*Context, []byte) ([]byte, *wire.Status) {
		return nil, &wire.Status{Code: wire.FailedPrecondition, Outcome: wire.Executed, Message: "always"}
	})}
}

func (m *model) run(r *rig, lone bool) {
	var wg sync.WaitGroup
	sides := []*Session{r.client, r.server}
	if lone {
		sides = sides[:1]
	}
	for side, s := range sides {
		for worker := range 12 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(m.seed, uint64(side*100+worker)))
				for n := 0; ; n++ {
					select {
					case <-m.stop:
						return
					default:
					}
					if lone && n%50 == 40 {
						// Times in which one goroutine is alone.
						time.Sleep(time.Duration(worker) * 2 * time.Millisecond)
					}
					m.begun.Add(1)
					m.step(s, rnd, lone)
					m.ended.Add(1)
				}
			})
		}
	}
	time.Sleep(modelTime)
	for end := time.Now().Add(10 * time.Second); m.good.Load() < 100 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // the machine is busy
	}
	close(m.stop)
	within(m.t, 20*time.Second, "the end of all operations", wg.Wait)
	if m.begun.Load() != m.ended.Load() {
		m.t.Errorf("%d operations began, %d ended", m.begun.Load(), m.ended.Load())
	}
}

// step does one random thing.
func (m *model) step(s *Session, rnd *rand.Rand, lone bool) {
	size := []int{0, 1, 100, 581, 581, 4000, 16_384, 20_000}[rnd.IntN(8)]
	if rnd.IntN(40) == 0 {
		size = 120_000
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch rnd.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(20)+1)*time.Millisecond)
	case 1:
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(time.Duration(rnd.IntN(3000))*time.Microsecond, cancel).Stop()
	}
	defer cancel()
	switch op := rnd.IntN(10); op {
	case 0, 1, 2:
		m.echo(ctx, s, rnd, fmt.Sprint("Echo.Say#", rnd.IntN(12)), size)
	case 3:
		m.echo(ctx, s, rnd, "Be.Uneven", size%50)
	case 4:
		m.echo(ctx, s, rnd, "Echo.Wait", 0)
	case 5:
		if !lone {
			m.nest(ctx, s, rnd)
		}
	case 6:
		m.async(s, rnd, size)
	case 7, 8:
		m.stream(ctx, s, rnd)
	case 9:
		c := newCall("Fail.Always", pattern(size), nil)
		if st := do(ctx, s, c); st == nil {
			m.t.Error("a call that always fails went well")
		} else if st.Code == wire.FailedPrecondition {
			m.good.Add(1)
		} else {
			m.excuse(st)
		}
	}
}

// excuse fails the test when a call must not end so here.
func (m *model) excuse(st *wire.Status) {
	switch st.Code {
	case wire.DeadlineExceeded, wire.Canceled:
		return
	case wire.ResourceExhausted:
		if st.Outcome == wire.NotSent || st.Outcome == wire.Refused || st.Outcome == wire.Executed {
			return
		}
	}
	m.t.Errorf("an operation ended with %+v", st)
}

func (m *model) echo(ctx context.Context, s *Session, rnd *rand.Rand, method string, size int) {
	body := pattern(size)
	if size > 0 {
		body[0] = byte(rnd.IntN(2))
	}
	var reply []byte
	c := newCall(method, body, &reply)
	c.Late = rnd.IntN(4) == 0
	if rnd.IntN(10) == 0 {
		c.Compress = gzip.New()
	}
	if method == "Echo.Wait" || rnd.IntN(3) == 0 {
		c.Timeout = int64(rnd.IntN(10)+1) * int64(time.Millisecond)
	}
	switch st := do(ctx, s, c); {
	case st != nil:
		m.excuse(st)
	case method == "Echo.Wait":
		m.t.Error("a call that waits for its end went well")
	case !bytes.Equal(reply, body):
		m.t.Errorf("%s of %d bytes gave %d others", method, len(body), len(reply))
	default:
		m.good.Add(1)
	}
}

func (m *model) nest(ctx context.Context, s *Session, rnd *rand.Rand) {
	body := pattern(rnd.IntN(12))
	var reply []byte
	c := newCall("Nest.Down", body, &reply)
	c.Timeout = int64(5 * time.Second)
	if st := do(ctx, s, c); st != nil {
		m.excuse(st)
	} else if len(reply) != len(body) {
		m.t.Errorf("%d nested calls gave %d bytes", len(body), len(reply))
	} else {
		m.good.Add(1)
	}
}

func (m *model) async(s *Session, rnd *rand.Rand, size int) {
	var ends atomic.Int32
	done := make(chan struct{})
	body := pattern(size)
	reply := new([]byte)
	c := newCall("Echo.Say", body, reply)
	c.Oneway = rnd.IntN(2) == 0
	c.Timeout = int64(rnd.IntN(200)+1) * int64(time.Millisecond)
	c.Async = func(c *Call) {
		if ends.Add(1) != 1 {
			m.t.Error("an asynchronous call ended twice")
			return
		}
		if c.Status != nil {
			m.excuse(c.Status)
		} else if !c.Oneway && !bytes.Equal(*reply, body) {
			m.t.Errorf("an asynchronous call of %d bytes gave %d others", len(body), len(*reply))
		} else {
			m.good.Add(1)
		}
		close(done)
	}
	if st := s.Start(context.Background(), c); st != nil {
		m.excuse(st)
		return
	}
	if rnd.IntN(3) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if s.Abandon(ctx, c) {
			return
		}
	}
	<-done
}

func (m *model) stream(ctx context.Context, s *Session, rnd *rand.Rand) {
	c := newCall("Echo.Chat", nil, nil)
	st, status := s.OpenStream(ctx, c)
	if status != nil {
		m.excuse(status)
		return
	}
	stop := context.AfterFunc(ctx, st.ContextEnded)
	defer stop()
	count := rnd.IntN(12)
	sizes := make([]int, count)
	for i := range sizes {
		if sizes[i] = []int{0, 3, 70, 700}[rnd.IntN(4)]; rnd.IntN(10) == 0 {
			sizes[i] = 40_000
		}
	}
	giveUp := rnd.IntN(4) == 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for i, n := range sizes {
			if giveUp && i == count/2 {
				st.Cancel(&wire.Status{Code: wire.Canceled, Message: "given up"})
				return
			}
			if status := st.Send(pattern(n)); status != nil {
				return
			}
		}
		st.CloseSend()
	})
	defer wg.Wait()
	for i := 0; ; i++ {
		b, status := recv(st)
		switch {
		case b == nil && status != nil:
			m.excuse(status)
			return
		case b == nil:
			if i != count && !giveUp {
				m.t.Errorf("a stream of %d messages ended after %d", count, i)
			}
			m.good.Add(1)
			return
		case i >= count || !bytes.Equal(b, pattern(sizes[i])):
			m.t.Errorf("message %d of a stream has %d bytes", i, len(b))
		}
	}
}

// Callers that are alone read their own replies; all that may happen meanwhile
// reaches them.
func TestLoneCaller(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{})
	last := unary("Be.Last", func(*Context, []byte) ([]byte, *wire.Status) {
		close(began)
		<-release
		return nil, nil
	})
	r := newRig(t, setup{client: func(c *Config) { c.Resolve = nil }}, echo(), wait(), moody(release), last)
	alone := func() {
		t.Helper()
		for range 20 {
			mustEcho(t, r.client, "alone")
		}
	}
	for range 5 {
		alone()
		c := newCall("Be.Moody", []byte("block"), nil) // it answers much later
		c.Timeout = int64(5 * time.Millisecond)
		within(t, time.Minute, "a deadline", func() {
			if st := do(context.Background(), r.client, c); st == nil || st.Code != wire.DeadlineExceeded {
				t.Errorf("a lone call with a timeout: %+v", st)
			}
		})
		alone()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		within(t, time.Minute, "a context", func() {
			if st := do(ctx, r.client, newCall("Be.Moody", []byte("block"), nil)); st == nil || st.Code != wire.DeadlineExceeded {
				t.Errorf("a lone call whose context ends: %+v", st)
			}
		})
		cancel()
		alone()
		// Another call comes while the first one reads, and ends before it or behind it.
		var wg sync.WaitGroup
		wg.Go(func() {
			c := newCall("Echo.Wait", nil, nil)
			c.Timeout = int64(20 * time.Millisecond)
			do(context.Background(), r.client, c)
		})
		for range 20 {
			wg.Go(func() { mustEcho(t, r.client, "beside") })
		}
		within(t, time.Minute, "calls beside one that waits", wg.Wait)
		// A call without a waiting caller.
		alone()
		done := make(chan struct{})
		async := newCall("Echo.Say", []byte("x"), nil)
		async.Async = func(*Call) { close(done) }
		if st := r.client.Start(context.Background(), async); st != nil {
			t.Fatal(st)
		}
		within(t, time.Minute, "an asynchronous call", func() { <-done })
	}
	// The connection is lost while a lone caller reads.
	alone()
	result := make(chan *wire.Status, 1)
	go func() {
		_, st := invoke(r.client, "Be.Last", "")
		result <- st
	}()
	within(t, time.Minute, "the begin of the call", func() { <-began })
	r.broken = true
	r.serverConn.Out().CutAfter(0)
	within(t, time.Minute, "the end of a call on a lost connection", func() {
		if st := <-result; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
			t.Errorf("a call on a lost connection: %+v", st)
		}
	})
	close(release)
}
