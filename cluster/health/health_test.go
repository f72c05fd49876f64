package health_test

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// bench is a panel with three servers whose clock the test moves.
type bench struct {
	*health.Panel
	t       testing.TB
	now     time.Duration
	a, b, c *health.Tracker
}

func newBench(t testing.TB) *bench {
	p, err := health.NewPanel(health.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{p, t, time.Hour, p.Add("a"), p.Add("b"), p.Add("c")}
}

func (b *bench) calls(s *health.Tracker, n int, r health.Result) {
	for range n {
		s.Begin(b.now)
		b.now += ms
		s.End(b.now, ms, r)
	}
}

func (b *bench) tick() []health.Change { return b.Tick(b.now, 1) }

// others has the others answer for a while.
func (b *bench) others(d time.Duration) {
	for until := b.now + d; b.now < until; b.tick() {
		b.calls(b.b, 1, health.OK)
		b.calls(b.c, 1, health.OK)
		b.now += tickEvery - 2*ms
	}
}

func (b *bench) want(s *health.Tracker, state health.State) {
	b.t.Helper()
	if s.State() != state || s.Available() != (state == health.Healthy) {
		b.t.Fatalf("%s is %v, want %v; %+v", s.Name(), s.State(), state, b.Reports(b.now))
	}
}

// eject has server a fail until it is out.
func (b *bench) eject() {
	b.t.Helper()
	b.calls(b.a, 5, health.Failed)
	b.tick()
	b.want(b.a, health.Ejected)
}

// ready waits until server a is to be probed.
func (b *bench) ready() time.Duration {
	b.t.Helper()
	from := b.now
	for b.a.State() != health.Probing {
		b.now += 10 * ms
		b.tick()
		if b.now > from+time.Hour {
			b.t.Fatal("no probe within an hour")
		}
	}
	return b.now - from
}

func TestFailuresInARow(t *testing.T) {
	b := newBench(t)
	b.calls(b.a, 4, health.Failed)
	b.calls(b.a, 1, health.Canceled)
	if changes := b.tick(); changes != nil {
		t.Fatalf("changes %v after four failures", changes)
	}
	b.calls(b.a, 1, health.OK)
	b.calls(b.a, 4, health.Failed)
	if changes := b.tick(); changes != nil {
		t.Fatalf("changes %v after a row was interrupted", changes)
	}
	b.calls(b.a, 1, health.Failed)
	b.want(b.a, health.Healthy) // until the tick
	changes := b.tick()
	if len(changes) != 1 || changes[0] != (health.Change{Tracker: b.a, From: health.Healthy, To: health.Ejected, Why: "5 failures in a row"}) {
		t.Fatalf("changes %v", changes)
	}
	if b.tick() != nil {
		t.Error("the same change twice")
	}
	r := b.Reports(b.now)[0]
	if !strings.HasPrefix(r.Why, "5 failures in a row, tried again in ") || r.Until < b.now+4*time.Second || r.Until > b.now+6*time.Second {
		t.Errorf("report %+v", r)
	}
}

func TestProbe(t *testing.T) {
	b := newBench(t)
	b.eject()
	if b.Probe(b.now, nil) != nil {
		t.Fatal("a probe for an ejected server")
	}
	if wait := b.ready(); wait < 4500*ms || wait > 5520*ms {
		t.Errorf("out for %v, want 5s give or take a tenth", wait)
	}
	if got := b.Probe(b.now, func(*health.Tracker) bool { return false }); got != nil {
		t.Error("a probe for a call that may not go there")
	}
	got := b.Probe(b.now, func(s *health.Tracker) bool { return s == b.a })
	if got != b.a {
		t.Fatalf("probe of %v", got)
	}
	if b.Probe(b.now, nil) != nil {
		t.Error("a second probe at the same time")
	}
	b.calls(got, 1, health.OK)
	b.want(b.a, health.Probing)
	if changes := b.tick(); len(changes) != 1 || changes[0].To != health.Healthy {
		t.Errorf("changes %v", changes)
	}
	b.want(b.a, health.Healthy)
	b.calls(b.a, 4, health.Failed)
	b.tick()
	b.want(b.a, health.Healthy) // the old failures are forgotten
	if b.Probe(b.now, nil) != nil {
		t.Error("a probe for a healthy server")
	}
}

func TestProbeEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(b *bench)
		want health.State
	}{
		{"it failed", func(b *bench) { b.calls(b.a, 1, health.Failed); b.tick() }, health.Ejected},
		{"it got no answer", func(b *bench) { b.a.Begin(b.now); b.others(1500 * ms) }, health.Ejected},
		{"it may still get one", func(b *bench) { b.a.Begin(b.now); b.others(750 * ms) }, health.Probing},
		{"it was canceled", func(b *bench) { b.calls(b.a, 1, health.Canceled); b.tick() }, health.Probing},
		{"it was canceled, and the server answered before", func(b *bench) {
			b.a.Answered(b.now)
			b.calls(b.a, 1, health.Canceled)
			b.others(7 * time.Second)
		}, health.Probing},
		{"it was never sent", func(b *bench) { b.others(time.Minute) }, health.Probing},
		{"it was a stream", func(b *bench) { b.a.BeginStream(b.now); b.now += ms; b.a.EndStream(b.now, ms, health.OK); b.tick() }, health.Healthy},
		{"there are no calls, and it answers otherwise", func(b *bench) { b.a.Answered(b.now); b.others(7 * time.Second) }, health.Healthy},
		{"a stream that was not asked goes well", func(b *bench) {
			b.others(2 * time.Second) // the one that was asked never began
			b.a.BeginStream(b.now)
			b.now += ms
			b.a.EndStream(b.now, ms, health.OK)
			b.tick()
		}, health.Healthy},
		{"it was an old call that went well", func(b *bench) { b.a.End(b.now, time.Minute, health.OK); b.tick() }, health.Probing},
		{"an old call went well meanwhile", func(b *bench) { b.a.Begin(b.now); b.a.End(b.now, time.Minute, health.OK); b.tick() }, health.Probing},
		{"the server was forgotten", func(b *bench) { b.Remove(b.a); b.tick() }, health.Probing},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.a.Begin(b.now) // the old call
			b.eject()
			b.ready()
			if b.Probe(b.now, nil) != b.a {
				t.Fatal("no probe")
			}
			test.do(b)
			b.want(b.a, test.want)
			again := b.Probe(b.now, nil) != nil
			if want := strings.HasPrefix(test.name, "it was canceled") || test.name == "it was never sent"; again != want {
				t.Errorf("another call may be the probe: %v, want %v", again, want)
			}
		})
	}
}

func TestEjectionGrows(t *testing.T) {
	b := newBench(t)
	b.eject()
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
		want *= time.Second
		if got := b.ready(); got < want*9/10 || got > want*11/10+20*ms {
			t.Errorf("out for %v, want %v give or take a tenth", got, want)
		}
		b.Probe(b.now, nil)
		b.calls(b.a, 1, health.Failed)
		b.tick()
		b.want(b.a, health.Ejected)
	}
	b.ready()
	b.Probe(b.now, nil)
	b.calls(b.a, 1, health.OK)
	b.tick()
	b.want(b.a, health.Healthy)
	b.eject()
	if got := b.ready(); got < 270*time.Second {
		t.Errorf("out for %v after it was well for a moment, want five minutes", got)
	}
	b.Probe(b.now, nil)
	b.calls(b.a, 1, health.OK)
	b.tick()
	b.now += 30 * time.Minute
	b.eject()
	if got := b.ready(); got > 6*time.Second {
		t.Errorf("out for %v after it was well for half an hour, want 5s", got)
	}
}

func TestStall(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(b *bench)
		want health.State
	}{
		{"two calls wait", func(b *bench) { b.a.Begin(b.now); b.a.Begin(b.now); b.others(1500 * ms) }, health.Ejected},
		{"two calls wait since not long", func(b *bench) { b.a.Begin(b.now); b.a.Begin(b.now); b.others(750 * ms) }, health.Healthy},
		{"one call waits", func(b *bench) { b.a.Begin(b.now); b.others(30 * time.Second) }, health.Healthy},
		{"one waits after one that failed", func(b *bench) {
			b.calls(b.a, 1, health.Failed)
			b.a.Begin(b.now)
			b.others(1500 * ms)
		}, health.Ejected},
		{"calls fail one after the other", func(b *bench) {
			for range 3 {
				b.a.Begin(b.now)
				begun := b.now
				b.others(500 * ms)
				b.a.End(b.now, b.now-begun, health.Failed)
			}
			b.a.Begin(b.now)
			b.others(250 * ms)
		}, health.Ejected},
		{"two calls wait, after a long pause", func(b *bench) {
			b.calls(b.a, 1, health.Failed)
			b.others(time.Minute)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(500 * ms)
		}, health.Healthy},
		{"two calls wait, after one that failed and one that did not", func(b *bench) {
			b.calls(b.a, 1, health.Failed)
			b.calls(b.a, 1, health.OK)
			b.others(750 * ms)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(500 * ms)
		}, health.Healthy},
		{"callers gave up before", func(b *bench) {
			b.a.Begin(b.now)
			b.a.End(b.now+ms, ms, health.Canceled)
			b.others(time.Minute)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(500 * ms)
		}, health.Healthy},
		{"streams wait", func(b *bench) { b.a.BeginStream(b.now); b.a.BeginStream(b.now); b.others(time.Minute) }, health.Healthy},
		{"the others are idle", func(b *bench) {
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			for range 20 {
				b.now += tickEvery
				b.tick()
			}
		}, health.Healthy},
		{"its calls take that long", func(b *bench) {
			b.a.Begin(b.now - 3*time.Second)
			b.a.End(b.now, 3*time.Second, health.OK)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(5 * time.Second)
		}, health.Healthy},
		{"its calls do not take that long", func(b *bench) {
			b.a.Begin(b.now - 3*time.Second)
			b.a.End(b.now, 3*time.Second, health.OK)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(7 * time.Second)
		}, health.Ejected},
		{"the calls of the others take that long", func(b *bench) {
			b.b.Begin(b.now - 3*time.Second)
			b.b.End(b.now, 3*time.Second, health.OK)
			b.a.Begin(b.now)
			b.a.Begin(b.now)
			b.others(4 * time.Second)
		}, health.Healthy},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.others(time.Second)
			test.do(b)
			b.want(b.a, test.want)
		})
	}
}

// A server that was ejected for its silence and speaks is probed at once.
func TestStallEnds(t *testing.T) {
	b := newBench(t)
	b.others(time.Second)
	begun := b.now
	b.a.Begin(b.now)
	b.a.Begin(b.now)
	b.others(1500 * ms)
	b.want(b.a, health.Ejected)
	b.a.End(b.now, b.now-begun, health.OK)
	b.now += ms
	b.tick()
	b.want(b.a, health.Probing)
}

func TestConnections(t *testing.T) {
	b := newBench(t)
	b.a.Connected(b.now)
	b.now += time.Minute
	b.a.Lost(b.now)
	if changes := b.tick(); len(changes) != 1 || changes[0].To != health.Down || changes[0].Why == "" {
		t.Fatalf("changes %v after a connection was lost", changes)
	}
	b.want(b.a, health.Down)
	b.others(time.Minute)
	b.want(b.a, health.Down)
	if b.Probe(b.now, nil) != nil {
		t.Error("a probe for a server without a connection")
	}
	b.a.Connected(b.now)
	b.tick()
	b.want(b.a, health.Healthy)

	b.eject()
	b.a.Lost(b.now)
	b.tick()
	b.want(b.a, health.Down)
	b.a.Connected(b.now)
	b.tick()
	b.want(b.a, health.Probing) // it was not well before
	b.Probe(b.now, nil)
	b.calls(b.a, 1, health.OK)
	b.tick()
	b.want(b.a, health.Healthy)
}

// Calls that were in flight when a server went down do not make it look silent when
// it is back.
func TestBackIsNotSilent(t *testing.T) {
	b := newBench(t)
	b.others(time.Second)
	b.a.Begin(b.now)
	b.a.Begin(b.now)
	b.a.Lost(b.now)
	b.others(10 * time.Second)
	b.a.Connected(b.now)
	b.others(750 * ms)
	b.want(b.a, health.Healthy)
	b.others(500 * ms)
	b.want(b.a, health.Ejected)
}

func TestFlappingConnection(t *testing.T) {
	b := newBench(t)
	b.a.Connected(b.now)
	flap := func(uptime time.Duration) {
		b.now += uptime
		b.a.Lost(b.now)
		b.a.Lost(b.now) // is the same loss
		b.tick()
		b.want(b.a, health.Down)
		b.now += ms
		b.a.Connected(b.now)
		b.a.Connected(b.now)
		b.tick()
	}
	for range 10 {
		flap(11 * time.Second)
		b.want(b.a, health.Healthy)
	}
	flap(time.Second)
	b.want(b.a, health.Healthy)
	flap(time.Second)
	b.want(b.a, health.Healthy)
	flap(time.Second)
	b.want(b.a, health.Ejected)
	b.ready()
	b.Probe(b.now, nil)
	b.calls(b.a, 1, health.OK)
	b.tick()
	b.want(b.a, health.Healthy)
	b.others(time.Minute)
	flap(time.Second)
	b.want(b.a, health.Healthy)
}

// Servers without a connection count as out, but are not let in for the sake of the
// half: nothing can be sent to them.
func TestDownAndEjected(t *testing.T) {
	b := newBench(t)
	b.eject()
	b.b.Lost(b.now)
	b.tick()
	b.want(b.b, health.Down)
	b.want(b.a, health.Healthy) // two of three would be too many
	b.c.Lost(b.now)
	b.a.Lost(b.now)
	b.tick()
	b.want(b.a, health.Down)
	b.want(b.c, health.Down)
	for _, s := range []*health.Tracker{b.a, b.b, b.c} {
		s.Connected(b.now)
	}
	b.tick()
	b.want(b.b, health.Healthy)
	b.want(b.c, health.Healthy)
}

func TestRemove(t *testing.T) {
	b := newBench(t)
	b.Remove(b.b)
	b.Remove(b.b)
	b.calls(b.b, 10, health.Failed)
	b.tick()
	b.want(b.b, health.Healthy)
	reports := b.Reports(b.now)
	if len(reports) != 2 || reports[0].Name != "a" || reports[1].Name != "c" {
		t.Errorf("reports %+v", reports)
	}
}

// TestConcurrently has calls, ticks, connections and lists change at the same time.
func TestConcurrently(t *testing.T) {
	b := newBench(t)
	var clock atomic.Int64
	clock.Store(int64(time.Hour))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() { // ends with its calls
			for i := range 5000 {
				now := time.Duration(clock.Add(int64(100 * time.Microsecond)))
				s := b.Probe(now, nil)
				if s == nil {
					s = []*health.Tracker{b.a, b.b, b.c}[(i+g)%3]
				}
				s.Begin(now)
				later := time.Duration(clock.Add(int64(100 * time.Microsecond)))
				r := health.OK
				if s == b.a && i%2000 < 500 {
					r = health.Failed
				}
				s.End(later, later-now, r)
			}
		})
	}
	wg.Go(func() { // ends with its ticks
		for i := range 2000 {
			now := time.Duration(clock.Load())
			b.Tick(now, uint64(i))
			b.Reports(now)
			if i%100 == 0 {
				b.b.Lost(now)
				b.b.Connected(now)
				extra := b.Add("d")
				b.Tick(now, uint64(i))
				b.Remove(extra)
			}
		}
	})
	wg.Wait()
	b.now = time.Duration(clock.Load())
	for range 4000 {
		b.others(tickEvery)
		s := b.Probe(b.now, nil)
		if s == nil {
			s = b.a
		}
		b.calls(s, 1, health.OK)
	}
	for _, r := range b.Reports(b.now) {
		if r.State != health.Healthy || r.InFlight != 0 {
			t.Errorf("a quarter of an hour later %+v", r)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  health.Config
		ok   bool
	}{
		{"defaults", health.Config{}, true},
		{"its own", health.Config{Failures: 1, Rate: 1, Calls: 1, Window: 100 * ms, Stall: 1, Eject: 1, MaxEject: 1}, true},
		{"ejected longer than the usual longest", health.Config{Eject: time.Hour}, true},
		{"negative failures", health.Config{Failures: -1}, false},
		{"negative rate", health.Config{Rate: -1}, false},
		{"a rate above one", health.Config{Rate: 1.1}, false},
		{"no rate", health.Config{Rate: math.NaN()}, false},
		{"negative calls", health.Config{Calls: -1}, false},
		{"negative window", health.Config{Window: -1}, false},
		{"negative stall", health.Config{Stall: -1}, false},
		{"negative ejection", health.Config{Eject: -1}, false},
		{"a longest ejection below the first", health.Config{MaxEject: time.Second}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := health.NewPanel(test.cfg)
			if (err == nil) != test.ok || (p != nil) != test.ok || err != nil && weft.CodeOf(err) != weft.InvalidArgument {
				t.Errorf("panel %v, error %v, want an error: %v", p, err, !test.ok)
			}
		})
	}
}

func TestAllocatesNothing(t *testing.T) {
	b := newBench(t)
	failing := 0
	may := func(s *health.Tracker) bool { return s != b.c }
	if n := testing.AllocsPerRun(10000, func() {
		r := health.OK
		if failing++; failing%3 == 0 {
			r = health.Failed
		}
		b.Probe(b.now, may)
		b.calls(b.a, 1, r)
		b.b.BeginStream(b.now)
		b.b.EndStream(b.now, 0, r)
		b.a.Available()
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
	if n := testing.AllocsPerRun(1000, func() { b.now += tickEvery; b.others(0); b.tick() }); n != 0 {
		t.Errorf("%v allocations for a tick that changes nothing", n)
	}
}

func BenchmarkCall(b *testing.B) {
	bench := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		bench.a.Begin(bench.now)
		bench.now += time.Microsecond
		bench.a.End(bench.now, time.Microsecond, health.OK)
	}
}

func BenchmarkCallParallel(b *testing.B) {
	bench := newBench(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for now := bench.now; pb.Next(); now += time.Microsecond {
			bench.a.Begin(now)
			bench.a.End(now, time.Microsecond, health.OK)
		}
	})
}

func BenchmarkProbe(b *testing.B) {
	bench := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		bench.Probe(bench.now, nil)
	}
}

// BenchmarkTick is of a thousand servers.
func BenchmarkTick(b *testing.B) {
	p, err := health.NewPanel(health.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for range 1000 {
		p.Add("s")
	}
	b.ReportAllocs()
	for now := time.Hour; b.Loop(); now += tickEvery {
		p.Tick(now, 1)
	}
}
