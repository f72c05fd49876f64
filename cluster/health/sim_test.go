package health_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/health"
)

const (
	ms        = time.Millisecond
	tickEvery = 250 * ms
)

// world is a simulation: a client with its servers, a call on each of them taking as
// long and ending as its behaviour says. It moves in steps of a millisecond.
type world struct {
	t       *testing.T
	panel   *health.Panel
	servers []*server
	set     []*server // those available at the last tick
	random  *rand.Rand
	now     time.Duration
	ends    [slots][]end // by the millisecond

	perSecond float64
	deadline  time.Duration
	leastBusy bool // picks the better of two by calls in flight, not any
	due       float64
	log       []event
}

type server struct {
	*health.Tracker
	behave   func(now time.Duration) (took time.Duration, r health.Result)
	inFlight int
	sent     int // calls
	failed   int
}

type end struct {
	s     *server
	began time.Duration
	r     health.Result
}

type event struct {
	at time.Duration
	health.Change
}

// forever is longer than any deadline: a call to a server that is frozen.
const forever = time.Hour

func well(r *rand.Rand) func(time.Duration) (time.Duration, health.Result) {
	return func(time.Duration) (time.Duration, health.Result) {
		return ms + time.Duration(r.Int64N(int64(4*ms))), health.OK
	}
}

func newWorld(t *testing.T, servers int, perSecond float64) *world {
	t.Helper()
	panel, err := health.NewPanel(health.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, panel: panel, random: rand.New(rand.NewPCG(1, 2)), now: time.Hour,
		perSecond: perSecond, deadline: time.Second,
	}
	for i := range servers {
		w.servers = append(w.servers, &server{Tracker: panel.Add(fmt.Sprint("s", i)), behave: well(w.random)})
	}
	return w
}

// pick chooses like a client: a probe first, then among the healthy, then any.
func (w *world) pick() *server {
	if t := w.panel.Probe(w.now, nil); t != nil {
		for _, s := range w.servers {
			if s.Tracker == t {
				return s
			}
		}
	}
	set := w.set
	if len(set) == 0 {
		set = w.servers
	}
	a, b := set[w.random.IntN(len(set))], set[w.random.IntN(len(set))]
	if w.leastBusy && b.inFlight < a.inFlight {
		return b
	}
	return a
}

func (w *world) call() {
	s := w.pick()
	took, r := s.behave(w.now)
	if took > w.deadline {
		took, r = w.deadline, health.Failed
	}
	s.Begin(w.now)
	s.sent++
	s.inFlight++
	if r == health.Failed {
		s.failed++
	}
	slot := w.at(w.now + max(took, ms))
	*slot = append(*slot, end{s, w.now, r})
}

// slots is a power of two, of more milliseconds than a call takes.
const slots = 1 << 14

func (w *world) at(now time.Duration) *[]end { return &w.ends[now/ms%slots] }

// end ends a call.
func (w *world) end(e end) {
	e.s.inFlight--
	e.s.End(w.now, w.now-e.began, e.r)
}

// run lets time pass, and calls look after each tick.
func (w *world) run(d time.Duration, look ...func()) {
	w.t.Helper()
	for until := w.now + d; w.now < until; {
		w.now += ms
		slot := w.at(w.now)
		for _, e := range *slot {
			w.end(e)
		}
		*slot = (*slot)[:0]
		for w.due += w.perSecond / 1000; w.due >= 1; w.due-- {
			w.call()
		}
		if w.now%tickEvery == 0 {
			w.tick()
			for _, f := range look {
				f()
			}
		}
	}
}

// tick holds the panel to the half of the servers, whatever the test is about.
func (w *world) tick() {
	for _, c := range w.panel.Tick(w.now, w.random.Uint64()) {
		w.log = append(w.log, event{w.now, c})
	}
	out, down := 0, 0
	w.set = w.set[:0]
	for _, s := range w.servers {
		if s.Available() {
			w.set = append(w.set, s)
		}
		switch s.State() {
		case health.Ejected, health.Probing:
			out++
		case health.Down:
			down++
		}
	}
	if out > 0 && out+down > len(w.servers)/2 {
		w.t.Fatalf("%d of %d servers are ejected and %d are down", out, len(w.servers), down)
	}
}

// first is the first change of a server to a state after a moment.
func (w *world) first(s *server, to health.State, after time.Duration) (event, bool) {
	for _, e := range w.log {
		if e.Tracker == s.Tracker && e.To == to && e.at > after {
			return e, true
		}
	}
	return event{}, false
}

func (w *world) all(s health.State) {
	w.t.Helper()
	for _, server := range w.servers {
		if server.State() != s {
			w.t.Errorf("%s is %v, want %v; %v", server.Name(), server.State(), s, w.log)
		}
	}
}

func TestWell(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world)
	}{
		{"all are well", func(*world) {}},
		{"one is ten times slower", func(w *world) {
			w.servers[0].behave = func(time.Duration) (time.Duration, health.Result) { return 50 * ms, health.OK }
		}},
		{"one call in ten fails everywhere", func(w *world) {
			for _, s := range w.servers {
				fine := s.behave
				s.behave = func(now time.Duration) (time.Duration, health.Result) {
					if w.random.IntN(10) == 0 {
						return ms, health.Failed
					}
					return fine(now)
				}
			}
		}},
		{"four calls in ten fail everywhere", func(w *world) {
			for i, s := range w.servers {
				n := i
				s.behave = func(time.Duration) (time.Duration, health.Result) {
					n++
					return ms, []health.Result{health.OK, health.Failed, health.OK, health.Failed, health.OK}[n%5]
				}
			}
		}},
		{"callers give up now and then", func(w *world) {
			for _, s := range w.servers {
				s.behave = func(time.Duration) (time.Duration, health.Result) {
					return ms, health.Result(w.random.IntN(2) * 2)
				}
			}
		}},
		{"calls take longer than a stall", func(w *world) {
			w.deadline = 10 * time.Second
			for _, s := range w.servers {
				s.behave = func(time.Duration) (time.Duration, health.Result) {
					return time.Duration(w.random.Int64N(int64(1500 * ms))), health.OK
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 5, 1000)
			test.change(w)
			w.run(time.Minute)
			if len(w.log) > 0 || w.panel.Panic() {
				t.Errorf("changes %v, panic %v; want none", w.log, w.panel.Panic())
			}
		})
	}
}

// TestFrozen has a server stop for half a minute, as with SIGSTOP, and go on.
func TestFrozen(t *testing.T) {
	for _, test := range []struct {
		name      string
		servers   int
		perSecond float64
		deadline  time.Duration
		leastBusy bool
	}{
		{"much load", 3, 5000, time.Second, false},
		{"much load, the least busy", 3, 5000, time.Second, true},
		{"long deadlines", 3, 1000, 10 * time.Second, false},
		{"long deadlines, the least busy", 3, 1000, 10 * time.Second, true},
		{"short deadlines", 3, 1000, 100 * ms, false},
		{"some load", 3, 50, time.Second, false},
		{"two servers", 2, 500, time.Second, false},
		{"many servers", 20, 2000, time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.servers, test.perSecond)
			w.deadline, w.leastBusy = test.deadline, test.leastBusy
			w.run(10 * time.Second)
			s, fine := w.servers[0], w.servers[0].behave
			frozen := w.now
			s.behave = func(now time.Duration) (time.Duration, health.Result) {
				took, r := fine(now)
				return frozen + 30*time.Second - now + took, r // all at once when it goes on
			}
			w.run(2 * time.Second)
			e, ok := w.first(s, health.Ejected, frozen)
			if !ok {
				t.Fatalf("not ejected within two seconds: %+v", w.panel.Reports(w.now))
			}
			sent := s.sent
			w.run(28 * time.Second)
			if n := s.sent - sent; n > 4 {
				t.Errorf("%d calls to an ejected server in 28 seconds, want the probes alone", n)
			}
			thawed := w.now
			s.behave = fine
			w.run(15 * time.Second)
			back, ok := w.first(s, health.Healthy, thawed)
			if !ok {
				t.Fatalf("not back 15s after it went on: %v", w.log)
			}
			w.run(time.Minute)
			w.all(health.Healthy)
			t.Logf("ejected after %v (%s), back after %v", e.at-frozen, e.Why, back.at-thawed)
		})
	}
}

// TestGray has a server answer a part of its calls only.
func TestGray(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails float64
		want  bool
	}{
		{"all", 1, true},
		{"half", 0.5, true},
		{"a third", 0.33, true},
		{"one in twenty", 0.05, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 4, 300)
			w.run(10 * time.Second)
			s, fine, since := w.servers[1], w.servers[1].behave, w.now
			s.behave = func(now time.Duration) (time.Duration, health.Result) {
				if w.random.Float64() < test.fails {
					return ms, health.Failed
				}
				return fine(now)
			}
			w.run(time.Minute)
			if e, ok := w.first(s, health.Ejected, since); ok != test.want || ok && e.at-since > 10*time.Second {
				t.Fatalf("ejected: %v after %v, want %v; %+v", ok, e.at-since, test.want, w.panel.Reports(w.now))
			}
			for _, other := range w.servers {
				if _, ok := w.first(other, health.Ejected, 0); ok && other != s {
					t.Errorf("%s was ejected, which was well", other.Name())
				}
			}
			s.behave = fine
			w.run(5 * time.Minute)
			w.all(health.Healthy)
		})
	}
}

// TestAllFail: when all servers fail, all of them stay.
func TestAllFail(t *testing.T) {
	for _, servers := range []int{1, 2, 3, 10} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			w := newWorld(t, servers, 300)
			w.run(10 * time.Second)
			fine := w.servers[0].behave
			for _, s := range w.servers {
				s.behave = func(time.Duration) (time.Duration, health.Result) { return ms, health.Failed }
			}
			w.run(2 * time.Second)
			w.run(time.Minute, func() {
				for _, s := range w.servers {
					if s.State() != health.Healthy {
						t.Fatalf("%s is %v while all fail", s.Name(), s.State())
					}
				}
			})
			if !w.panel.Panic() {
				t.Error("no panic while all fail")
			}
			for _, s := range w.servers {
				s.behave = fine
			}
			w.run(20 * time.Second)
			w.all(health.Healthy)
			if w.panel.Panic() {
				t.Error("panic when all are well again")
			}
		})
	}
}

// TestMostFail: half of the servers can be spared, and the worst are.
func TestMostFail(t *testing.T) {
	w := newWorld(t, 10, 2000)
	for i, s := range w.servers[:7] {
		fine := s.behave
		s.behave = func(now time.Duration) (time.Duration, health.Result) {
			if i < 5 || w.random.Float64() < 0.5 {
				return ms, health.Failed
			}
			return fine(now)
		}
	}
	w.run(30 * time.Second)
	for i, s := range w.servers {
		if out := s.State() != health.Healthy; out != (i < 5) {
			t.Errorf("%s is %v; the five that fail always should be out", s.Name(), s.State())
		}
	}
	if note := w.panel.Reports(w.now)[5].Why; note == "" {
		t.Error("nothing is said of a server that fails and is not ejected")
	}
}

// TestFlapping has a server be well and not well in turn for an hour.
func TestFlapping(t *testing.T) {
	w := newWorld(t, 3, 100)
	s, fine := w.servers[0], w.servers[0].behave
	s.behave = func(now time.Duration) (time.Duration, health.Result) {
		if now%(20*time.Second) < 8*time.Second {
			return ms, health.Failed
		}
		return fine(now)
	}
	w.run(time.Hour)
	if s.failed > 300 {
		t.Errorf("%d calls failed, want hardly any of the 48,000 it would get in its bad moments", s.failed)
	}
	ejections, longest := 0, time.Duration(0)
	var last time.Duration
	for _, e := range w.log {
		if e.To == health.Ejected && e.From == health.Healthy {
			ejections++
			last = e.at
		}
		if e.To == health.Healthy {
			longest = max(longest, e.at-last)
		}
	}
	if ejections < 5 || ejections > 60 || longest < 4*time.Minute {
		t.Errorf("ejected %d times, %v at the longest, want it to grow to five minutes", ejections, longest)
	}
}

// TestAsleep has the whole client not run for a while, as on a machine that sleeps:
// all servers look silent then.
func TestAsleep(t *testing.T) {
	w := newWorld(t, 3, 2000)
	w.run(5 * time.Second)
	w.now += 10 * time.Second
	var late []end
	for i, ends := range w.ends { // what waited ends in the moment it wakes, but for one server
		for _, e := range ends {
			if e.s == w.servers[2] {
				late = append(late, e)
			} else {
				w.end(e)
			}
		}
		w.ends[i] = nil
	}
	*w.at(w.now + 300*ms) = late
	w.tick()
	w.run(20 * time.Second)
	if len(w.log) > 0 {
		t.Errorf("changes after a sleep: %v", w.log)
	}
}

// TestHalf plays half an hour of random misfortunes; world.tick holds every moment of it to
// the half. In the end all are well again.
func TestHalf(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			w := newWorld(t, 1+r.IntN(9), 50)
			fine := well(w.random)
			for range 100 {
				s := w.servers[r.IntN(len(w.servers))]
				switch r.IntN(6) {
				case 0, 1:
					s.behave = fine
					s.Connected(w.now)
				case 2:
					s.behave = func(time.Duration) (time.Duration, health.Result) { return ms, health.Failed }
				case 3:
					s.behave = func(time.Duration) (time.Duration, health.Result) { return forever, health.OK }
				case 4:
					s.behave = func(now time.Duration) (time.Duration, health.Result) {
						took, _ := fine(now)
						return took, health.Result(r.IntN(3))
					}
				case 5:
					s.Lost(w.now)
				}
				w.run(time.Duration(r.Int64N(int64(30 * time.Second))))
			}
			for _, s := range w.servers {
				s.behave = fine
				s.Connected(w.now)
			}
			w.run(12 * time.Minute)
			w.all(health.Healthy)
		})
	}
}
