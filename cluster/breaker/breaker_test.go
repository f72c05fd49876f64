package breaker

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const ms = time.Millisecond

func newSettings(t testing.TB, cfg Config) *Settings {
	t.Helper()
	s, err := NewSettings(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// line is a breaker with a clock.
type line struct {
	*Breaker
	t   testing.TB
	now time.Duration
}

func newLine(t testing.TB, cfg Config) *line {
	return &line{newSettings(t, cfg).New(1), t, time.Hour}
}

// call makes a call that takes a millisecond, and reports whether it was let through.
func (l *line) call(r Result) bool {
	if !l.Allow(l.now) {
		l.now += ms
		return false
	}
	l.now += ms
	l.Done(l.now, ms, r)
	return true
}

func (l *line) calls(n int, r Result) {
	for range n {
		l.call(r)
	}
}

func (l *line) want(s State) {
	l.t.Helper()
	if got := l.State(l.now); got != s {
		l.t.Fatalf("%v after %v, want %v; %+v", got, l.now-time.Hour, s, l.Status(l.now))
	}
}

// open lets ten calls fail.
func (l *line) open() {
	l.t.Helper()
	l.calls(10, Failed)
	l.want(Open)
}

// probeTime waits until a probe would go, and returns how long that was.
func (l *line) probeTime() time.Duration {
	from := l.now
	for l.State(l.now) == Open {
		l.now += ms
	}
	return l.now - from
}

func TestOpens(t *testing.T) {
	alternate := func(l *line, n int) {
		for i := range n {
			l.call(Result(i % 2)) // OK, Failed, OK...
		}
	}
	for _, test := range []struct {
		name string
		cfg  Config
		do   func(l *line)
		want State
	}{
		{"nothing", Config{}, func(*line) {}, Closed},
		{"all well", Config{}, func(l *line) { l.calls(1000, OK) }, Closed},
		{"nine in a row", Config{}, func(l *line) { l.calls(9, Failed) }, Closed},
		{"ten in a row", Config{}, func(l *line) { l.calls(10, Failed) }, Open},
		{"ten in a row after much good", Config{}, func(l *line) { l.calls(1000, OK); l.calls(10, Failed) }, Open},
		{"a row interrupted", Config{}, func(l *line) { l.calls(9, Failed); l.calls(30, OK); l.calls(9, Failed) }, Closed},
		{"a row with canceled calls in it", Config{}, func(l *line) { l.calls(9, Failed); l.call(Canceled); l.call(Failed) }, Open},
		{"a row over a long time", Config{}, func(l *line) {
			for range 10 {
				l.call(Failed)
				l.now += time.Minute
			}
			l.now -= time.Minute
		}, Open},
		{"a row of its own length", Config{Consecutive: 2}, func(l *line) { l.calls(2, Failed) }, Open},
		{"half of 18", Config{}, func(l *line) { alternate(l, 18) }, Closed},
		{"half of 20", Config{}, func(l *line) { alternate(l, 20) }, Open},
		{"half of 20 over two windows", Config{}, func(l *line) { alternate(l, 18); l.now += 11 * time.Second; alternate(l, 10) }, Closed},
		{"half of 20 over half a window", Config{}, func(l *line) { alternate(l, 18); l.now += 5 * time.Second; alternate(l, 10) }, Open},
		{"a third of 60", Config{}, func(l *line) {
			for i := range 60 {
				l.call(Result((i % 3) / 2))
			}
		}, Closed},
		{"a third of 60 where a third is too much", Config{Ratio: 0.33}, func(l *line) {
			for i := range 60 {
				l.call(Result((i % 3) / 2))
			}
		}, Open},
		{"half of its own number", Config{Calls: 4}, func(l *line) { alternate(l, 4) }, Open},
		{"canceled calls alone", Config{}, func(l *line) { l.calls(1000, Canceled) }, Closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLine(t, test.cfg)
			test.do(l)
			l.want(test.want)
		})
	}
}

func TestCallsThatHangCount(t *testing.T) {
	for _, test := range []struct {
		name  string
		known time.Duration // latency of the method before it hangs; 0: it never answered
		opens time.Duration // at the latest
		wait  time.Duration // but not before
	}{
		{"a fast method", ms, 4 * time.Second, ms},
		{"a slow method", time.Second, 8 * time.Second, 4 * time.Second},
		{"one that never answered", 0, 12 * time.Second, 8750 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLine(t, Config{})
			for range 20 {
				l.Allow(l.now)
				if test.known > 0 {
					l.Done(l.now+test.known, test.known, OK)
				}
			}
			l.now += test.known
			from := l.now
			for l.Allow(l.now) { // ten a second that never end
				if l.now > from+time.Minute {
					t.Fatal("still closed after a minute in which no call ended")
				}
				l.now += 100 * ms
			}
			if took := l.now - from; took > test.opens || took < test.wait {
				t.Errorf("opened after %v, want %v to %v", took, test.wait, test.opens)
			}
			if s := l.Status(l.now); s.State != Open || s.Overdue < 10 || !strings.Contains(s.Why, "no answer") {
				t.Errorf("%+v, want open for calls that get no answer", s)
			}
		})
	}
}

func TestSlowIsNotHanging(t *testing.T) {
	for _, takes := range []time.Duration{100 * ms, 2 * time.Second, 5 * time.Second, 9 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			l := newLine(t, Config{})
			var sent []time.Duration
			for range 6000 { // ten minutes
				l.now += 100 * ms
				if len(sent) > 0 && l.now-sent[0] >= takes {
					l.Done(l.now, l.now-sent[0], OK)
					sent = sent[1:]
				}
				if !l.Allow(l.now) {
					t.Fatalf("open after %v: %+v", l.now-time.Hour, l.Status(l.now))
				}
				sent = append(sent, l.now)
			}
		})
	}
}

func TestStreamsAreNeverOverdue(t *testing.T) {
	l := newLine(t, Config{})
	begun := l.now
	for range 100 {
		if !l.AllowStream(l.now) {
			t.Fatalf("open for streams that wait: %+v", l.Status(l.now))
		}
		l.now += time.Second
	}
	if s := l.Status(l.now); s.State != Closed || s.Overdue != 0 {
		t.Errorf("%+v, want no overdue call", s)
	}
	for range 9 {
		l.DoneStream(l.now, l.now-begun, Failed)
	}
	l.want(Closed)
	l.DoneStream(l.now, l.now-begun, Failed)
	l.want(Open)
	for range 90 {
		l.DoneStream(l.now, l.now-begun, OK)
	}
	l.now += time.Hour
	l.Allow(l.now)
	if s := l.Status(l.now); s.Overdue != 0 {
		t.Errorf("%+v when all streams have ended, want no overdue call", s)
	}
}

// A stream that is let through may be quiet for hours: that it lasts is enough.
func TestStreamAsProbe(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	l.probeTime()
	begun := l.now
	if !l.AllowStream(l.now) {
		t.Fatal("no stream was let through")
	}
	if l.AllowStream(l.now) || l.Allow(l.now) {
		t.Error("another call was let through beside it")
	}
	l.now += 2 * time.Second
	if !l.Ready(l.now) || !l.AllowStream(l.now) {
		t.Errorf("two seconds later the breaker refuses: %+v", l.Status(l.now))
	}
	l.want(Closed)
	l.DoneStream(l.now, l.now-begun, Failed) // late, and not counted
	l.want(Closed)

	l.open()
	l.probeTime()
	if !l.AllowStream(l.now) {
		t.Fatal("no stream was let through")
	}
	l.now += 10 * ms
	l.DoneStream(l.now, 10*ms, Failed)
	l.want(Open)
}

func TestProbe(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	for range 1000 {
		if l.call(OK) {
			t.Fatal("an open breaker let a call through")
		}
	}
	wait := l.probeTime() + 1000*ms
	if wait < 4*time.Second || wait > 6*time.Second {
		t.Errorf("open for %v, want 5s give or take a fifth", wait)
	}
	l.want(HalfOpen)
	begun := l.now
	if !l.Allow(begun) {
		t.Fatal("no probe let through")
	}
	for range 1000 {
		l.now += ms
		if l.Allow(l.now) {
			t.Fatal("a second probe let through")
		}
	}
	l.want(HalfOpen)
	l.Done(l.now, l.now-begun, OK)
	l.want(Closed)
	l.calls(9, Failed)
	l.want(Closed) // what failed before does not count
	l.calls(1, Failed)
	l.want(Open)
}

// What a breaker opened for is forgotten when it closes.
func TestClosingForgets(t *testing.T) {
	l := newLine(t, Config{})
	for i := range 20 {
		l.call(Result(i % 2))
	}
	l.want(Open)
	l.probeTime()
	l.call(OK)
	l.call(Failed)
	l.want(Closed)
	if s := l.Status(l.now); s.Calls != 1 {
		t.Errorf("%+v, want the last call alone", s)
	}
}

func TestOneProbeOfMany(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	l.probeTime()
	var through atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { // ends after one question
			if l.Allow(l.now) {
				through.Add(1)
			}
		})
	}
	wg.Wait()
	if n := through.Load(); n != 1 {
		t.Errorf("%d probes let through at once", n)
	}
}

func TestOpenTimeGrows(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60, 60} {
		want *= time.Second
		if got := l.probeTime() + ms; got < want*4/5 || got > want*6/5+2*ms {
			t.Errorf("open for %v, want %v give or take a fifth", got, want)
		}
		l.call(Failed)
	}
	l.probeTime()
	l.call(OK)
	l.want(Closed)
	l.open()
	if got := l.probeTime(); got < 48*time.Second {
		t.Errorf("open for %v after it was closed for a moment, want about 60s", got)
	}
	l.call(OK)
	l.now += 61 * time.Second
	l.open()
	if got := l.probeTime(); got > 6*time.Second {
		t.Errorf("open for %v after it was closed for a minute, want about 5s", got)
	}
}

func TestProbeThatHangs(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	l.probeTime()
	begun := l.now
	l.Allow(l.now)
	l.now += 9 * time.Second
	if l.Allow(l.now) {
		t.Error("another call let through while the probe may still end")
	}
	l.want(HalfOpen)
	l.now += time.Second
	if l.Allow(l.now) {
		t.Error("a call let through right after a probe that hangs")
	}
	l.want(Open)
	if got := l.probeTime(); got < 8*time.Second || got > 12*time.Second {
		t.Errorf("open for %v after a probe that hangs, want twice as long as before", got)
	}
	if !l.Allow(l.now) {
		t.Fatal("no second probe")
	}
	l.now += ms
	l.Done(l.now, l.now-begun, OK) // the first one, after all
	l.want(Closed)
	l.Done(l.now, ms, Failed) // the second one, which was sent before it closed
	l.calls(9, Failed)
	l.want(Closed)
}

func TestProbeThatIsCanceled(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	l.probeTime()
	if !l.call(Canceled) || l.State(l.now) != HalfOpen {
		t.Fatalf("after a canceled probe %+v, want half-open", l.Status(l.now))
	}
	if !l.call(OK) {
		t.Fatal("the next call is not the probe")
	}
	l.want(Closed)
}

func TestOldCallsDecideNothing(t *testing.T) {
	l := newLine(t, Config{})
	begun := l.now
	for range 4 {
		l.Allow(begun)
	}
	l.now += ms
	l.open()
	l.Done(l.now, l.now-begun, OK)
	l.want(Open)
	l.probeTime()
	l.Allow(l.now)
	l.now += ms
	l.Done(l.now, l.now-begun, OK)
	l.want(HalfOpen)
	l.Done(l.now, l.now-begun, Failed)
	l.want(HalfOpen)
	l.Done(l.now, l.now-begun, Canceled)
	l.want(HalfOpen)
	l.Done(l.now, ms, OK)
	l.want(Closed)
}

// TestOutage has a method fail for two minutes at a hundred calls a second.
func TestOutage(t *testing.T) {
	l := newLine(t, Config{})
	l.calls(1000, OK)
	down, through := l.now, 0
	for l.now < down+2*time.Minute {
		if l.call(Failed) {
			through++
		}
		l.now += 9 * ms
	}
	if through > 15 {
		t.Errorf("%d calls of 12,000 sent to a method that fails them, want the ten that opened the breaker and a few probes", through)
	}
	up := l.now
	for l.State(l.now) != Closed {
		l.call(OK)
		l.now += 9 * ms
	}
	if took := l.now - up; took > 73*time.Second {
		t.Errorf("closed %v after the method was well again", took)
	}
}

func TestJitter(t *testing.T) {
	s := newSettings(t, Config{})
	seen := make(map[time.Duration]bool)
	for i := range 100 {
		l := line{s.New(uint64(i) << 20), t, 0}
		l.open()
		seen[l.Status(l.now).Until] = true
	}
	if len(seen) < 95 {
		t.Errorf("100 breakers that opened together probe at %d different times", len(seen))
	}
}

// TestBusyBucket has more calls in one bucket than its fields would hold.
func TestBusyBucket(t *testing.T) {
	l := newLine(t, Config{})
	for i := range 5 << 20 {
		l.Allow(l.now)
		r := OK
		if i%10 == 0 {
			r = Failed
		}
		if i%(1<<18) != 0 {
			l.Done(l.now, 0, r)
		}
	}
	s := l.Status(l.now)
	if share := float64(s.Failed) / float64(s.Calls); s.State != Closed || math.Abs(share-0.1) > 0.001 {
		t.Errorf("%+v, want a tenth of the calls failed", s)
	}
	if s.Overdue != 0 {
		t.Errorf("%d overdue, want none", s.Overdue)
	}
	l.now += 5 * time.Second
	if s := l.Status(l.now); s.Overdue != 20 {
		t.Errorf("%d overdue, want the 20 that never ended", s.Overdue)
	}
}

// TestConcurrently has many goroutines use a breaker whose method is well half of
// the time, and then lets it recover.
func TestConcurrently(t *testing.T) {
	b := newSettings(t, Config{Window: 100 * ms, Open: ms, MaxOpen: 4 * ms}).New(1)
	var clock atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() { // ends with its calls
			for i := range 20000 {
				now := time.Duration(clock.Add(int64(time.Microsecond)))
				if !b.Allow(now) {
					continue
				}
				r := OK
				if (i+g)%100 < 50 {
					r = Failed
				}
				end := time.Duration(clock.Add(int64(time.Microsecond)))
				b.Done(end, end-now, r)
				b.Status(end)
			}
		})
	}
	wg.Wait()
	now := time.Duration(clock.Load())
	for range 10000 {
		now += ms / 10
		if b.Allow(now) {
			b.Done(now+ms/20, ms/20, OK)
		}
	}
	if s := b.State(now); s != Closed {
		t.Errorf("%v a second after the method was well again", s)
	}
	now += time.Minute
	b.Allow(now)
	b.Done(now, 0, OK)
	if s := b.Status(now); s.Overdue != 0 || s.Calls != 1 {
		t.Errorf("%+v when all calls have ended, want one", s)
	}
}

func TestStatus(t *testing.T) {
	l := newLine(t, Config{})
	if got := l.Status(l.now).String(); got != "closed" {
		t.Errorf("a new breaker says %q", got)
	}
	l.open()
	if got := l.Status(l.now).String(); got != "open: 10 calls in a row failed" {
		t.Errorf("an open breaker says %q", got)
	}
	l.probeTime()
	l.call(Failed)
	if got := l.Status(l.now).String(); got != "open: the call that was let through failed" {
		t.Errorf("after a probe that failed it says %q", got)
	}
	l.probeTime()
	if got := l.Status(l.now).String(); got != "half-open: the call that was let through failed" {
		t.Errorf("a half-open breaker says %q", got)
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  Config
		ok   bool
	}{
		{"defaults", Config{}, true},
		{"its own", Config{Window: 100 * ms, Calls: 1, Ratio: 1, Consecutive: 1, Open: 1, MaxOpen: 1}, true},
		{"open longer than the usual longest", Config{Open: time.Hour}, true},
		{"negative window", Config{Window: -time.Second}, false},
		{"a short window", Config{Window: ms}, false},
		{"negative calls", Config{Calls: -1}, false},
		{"negative ratio", Config{Ratio: -1}, false},
		{"a ratio above one", Config{Ratio: 1.1}, false},
		{"no ratio", Config{Ratio: math.NaN()}, false},
		{"negative row", Config{Consecutive: -1}, false},
		{"negative open", Config{Open: -1}, false},
		{"negative longest", Config{MaxOpen: -1}, false},
		{"a longest below open", Config{MaxOpen: time.Second}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewSettings(test.cfg)
			if (err == nil) != test.ok || err != nil && weft.CodeOf(err) != weft.InvalidArgument {
				t.Errorf("error %v, want one: %v", err, !test.ok)
			}
		})
	}
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Breaker{}); size != 128 {
		t.Errorf("a Breaker has %d bytes, want two cache lines", size)
	}
	if at := unsafe.Offsetof(Breaker{}.counts) + unsafe.Offsetof(counts{}.buckets); at != 64 {
		t.Errorf("the buckets begin at %d, want the second cache line: every call writes to them", at)
	}
}

func TestAllocatesNothing(t *testing.T) {
	l := newLine(t, Config{})
	if n := testing.AllocsPerRun(20000, func() {
		r := OK
		if l.now%(20*time.Second) > 15*time.Second {
			r = Failed
		}
		l.call(r)
		l.State(l.now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCall(b *testing.B) {
	breaker := newSettings(b, Config{}).New(1)
	b.ReportAllocs()
	for now := time.Duration(0); b.Loop(); now += time.Microsecond {
		breaker.Allow(now)
		breaker.Done(now, 0, OK)
	}
}

func BenchmarkCallParallel(b *testing.B) {
	breaker := newSettings(b, Config{}).New(1)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for now := time.Duration(0); pb.Next(); now += time.Microsecond {
			breaker.Allow(now)
			breaker.Done(now, 0, OK)
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	l := newLine(b, Config{})
	l.open()
	b.ReportAllocs()
	for b.Loop() {
		l.Allow(l.now)
	}
}

// A call that is sent although the breaker refused it closes the breaker if it goes well,
// and is counted like any other.
func TestPass(t *testing.T) {
	l := newLine(t, Config{})
	l.open()
	opened := l.now
	if until := l.Until(l.now); until <= l.now {
		t.Errorf("an open breaker refuses calls until %v, now is %v", until, l.now)
	}
	pass := func(r Result, stream bool) {
		l.t.Helper()
		l.now += ms
		if stream {
			if l.AllowStream(l.now) {
				l.t.Fatal("the breaker lets a stream through")
			}
			l.PassStream(l.now)
			l.now += ms
			l.DoneStream(l.now, ms, r)
			return
		}
		if l.Allow(l.now) {
			l.t.Fatal("the breaker lets a call through")
		}
		l.Pass(l.now)
		l.now += ms
		l.Done(l.now, ms, r)
	}
	for range 100 {
		pass(Failed, false)
		pass(Canceled, true)
	}
	l.want(Open)
	if s := l.Status(l.now); s.Opened != 1 {
		t.Errorf("it opened %d times, want once", s.Opened)
	}
	pass(OK, false)
	l.want(Closed)
	if until := l.Until(l.now); until != 0 {
		t.Errorf("a closed breaker refuses calls until %v", until)
	}
	l.now = opened + time.Hour
	l.Allow(l.now)
	if s := l.Status(l.now); s.Overdue != 0 {
		t.Errorf("%+v when all calls have ended, want no overdue call", s)
	}
	l.Done(l.now, 0, OK)
	l.open()
	pass(OK, true)
	l.want(Closed)
	if s := l.Status(l.now); s.Opened != 2 {
		t.Errorf("it opened %d times, want twice", s.Opened)
	}
}

// Of two open breakers the one that opened later refuses calls for longer, give or take
// what is random.
func TestUntilOrders(t *testing.T) {
	s := newSettings(t, Config{})
	first, second := &line{s.New(1), t, time.Hour}, &line{s.New(2), t, time.Hour + 10*time.Second}
	first.calls(10, Failed)
	second.calls(10, Failed)
	if a, b := first.Until(first.now), second.Until(second.now); a >= b || a <= first.now {
		t.Errorf("they refuse calls until %v and %v", a, b)
	}
	first.probeTime()
	begun := first.now
	if !first.Allow(begun) {
		t.Fatal("no probe let through")
	}
	if until := first.Until(begun); until == 0 || until > begun {
		t.Errorf("while the probe is under way it refuses calls until %v", until)
	}
}
