package overload

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	ms      = time.Millisecond
	refusal = 2_000 // ns that a refusal costs
)

// scenario is a kind of server under a kind of load.
type scenario struct {
	name     string
	kinds    []kind
	capacity float64 // calls in a second
	times    float64 // the load, as a multiple of the capacity
	bursts   bool
	before   float64       // the load before the bursts, as a multiple of the capacity
	step     time.Duration // the time of sleeping from the middle on; 0: as before
	throttle bool
	refusal  int64   // 0: refusal
	least    float64 // of the possible goodput
	most     float64 // share of calls that may be refused; below 0: any
	length   time.Duration
}

func computing1(d time.Duration) []kind { return []kind{{share: 1, cpu: d}} }

func scenarios() []scenario {
	sleeps := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 20 * ms}}
	pools := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 10 * ms, slots: 10}}
	mix := []kind{{share: 0.9, cpu: 200 * time.Microsecond}, {share: 0.1, cpu: 20 * time.Microsecond, sleep: 200 * ms}}
	mixRate := processors / (0.9*200e-6 + 0.1*20e-6)
	var all []scenario
	for _, x := range []float64{0.5, 0.8, 0.9, 1.5, 2, 4, 10} {
		most := -1.0
		if x < 0.85 {
			most = 0
		} else if x < 1 {
			most = 0.02
		}
		all = append(all,
			scenario{name: "compute 1 ms", kinds: computing1(ms), capacity: processors * 1000, times: x, least: 0.9, most: most},
			scenario{name: "pool", kinds: pools, capacity: 1000, times: x, least: 0.9, most: most},
		)
	}
	for _, x := range []float64{0.5, 0.8, 1.5, 3} {
		most := -1.0
		if x < 1 {
			most = 0
		}
		all = append(all, scenario{name: "mix", kinds: mix, capacity: mixRate, times: x, least: 0.9, most: most})
	}
	return append(all,
		scenario{name: "sleep 20 ms", kinds: sleeps, capacity: processors / 20e-6, times: 0.1, least: 0.99, most: 0},
		scenario{name: "sleep 20 ms", kinds: sleeps, capacity: processors / 20e-6, times: 0.5, least: 0.99, most: 0, length: 6 * time.Second},
		scenario{name: "step 20 to 60 ms", kinds: sleeps, capacity: 30_000, times: 1.0 / 3, step: 60 * ms, least: 0.98, most: 0.015, length: 10 * time.Second},
		scenario{name: "bursts", kinds: computing1(ms), capacity: processors * 1000, times: 6, bursts: true, least: 0.75, most: -1},
		scenario{name: "bursts after an overload", kinds: computing1(ms), capacity: processors * 1000, times: 6, bursts: true, before: 3, least: 0.75, most: -1},
		// Both are four times as long, so that the model has less to do.
		scenario{name: "compute 50 µs, throttled", kinds: computing1(4 * 50 * time.Microsecond), refusal: 4 * refusal,
			capacity: processors * 5_000, times: 10, throttle: true, least: 0.9, most: -1, length: 12 * time.Second},
	)
}

// after is how long the load is half the capacity at the end.
func (s scenario) after() time.Duration {
	switch {
	case s.bursts || s.times < 1:
		return 0
	case s.throttle:
		return 5 * time.Second
	}
	return 4 * time.Second
}

func (s scenario) load() load {
	length := s.length
	if length == 0 {
		length = 12 * time.Second
	}
	l := load{kinds: s.kinds, deadline: time.Second, length: length, throttle: s.throttle, refusal: max(s.refusal, refusal),
		rate: func(at time.Duration) float64 {
			if at < length/8 || at >= length-s.after() {
				return s.capacity * min(s.times, 0.5)
			}
			return s.capacity * s.times
		}}
	if s.bursts {
		l.rate = func(at time.Duration) float64 {
			if at < length/8 && s.before > 0 {
				return s.capacity * s.before
			}
			if at%(300*ms) < 30*ms {
				return s.capacity * s.times
			}
			return 0
		}
	}
	if s.step > 0 {
		l.change = func(at time.Duration, k *kind) {
			if at >= length/2 {
				k.sleep = s.step
			}
		}
	}
	return l
}

// The model's scenarios: what is answered in time is at least so much of what could be, and
// nothing is refused where there is no overload.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios() {
		for _, critical := range []float64{0, 0.04} {
			if critical == 0 && s.times < 4 {
				continue
			}
			t.Run(fmt.Sprintf("%s at %.1f, %.0f %% critical", s.name, s.times, 100*critical), func(t *testing.T) {
				t.Parallel()
				l := s.load()
				l.critical = critical
				r := simulate(l, 1, true)
				from, to := l.length/8+2500*ms, l.length-max(s.after(), time.Second)
				got := r.between(from, to)
				possible := min(float64(got.offered)/(to-from).Seconds(), s.capacity)
				if s.after() > 0 {
					end := r.between(l.length-1500*ms, l.length-500*ms)
					if end.refusedShare > 0.01 || float64(end.good) < 0.98*float64(end.offered) {
						t.Errorf("%v after the overload %d of %d calls were refused, and %d answered in time",
							s.after()-1500*ms, end.refused, end.offered, end.good)
					}
				}
				share := got.goodput / possible
				t.Logf("goodput %.1f %%, p99 %v, refused %.2f %% %v, critical %.2f %%, limit %d, %v", 100*share, got.p99.Round(100*time.Microsecond),
					100*got.refusedShare, got.verdicts, 100*got.criticalGoodShare, r.c.places.limit.Load(), r.c.journal.last())
				if share < s.least {
					t.Errorf("goodput is %.1f %% of what is possible, want %.0f", 100*share, 100*s.least)
				}
				if s.most >= 0 && got.refusedShare > s.most {
					t.Errorf("%.2f %% of the calls were refused, want %.0f at most", 100*got.refusedShare, 100*s.most)
				}
				if critical > 0 && got.criticalGoodShare < 0.99 && !s.throttle {
					t.Errorf("%.2f %% of the critical calls were answered in time, want 99", 100*got.criticalGoodShare)
				}
			})
		}
	}
}

// Calls are read together when something has kept the readers waiting, handlers that compute or another process.
// Those that are critical are answered nevertheless: what they have to spare is time.
func TestReadTogether(t *testing.T) {
	pools := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 10 * ms, slots: 10}}
	for _, c := range []struct {
		name  string
		kinds []kind
		least float64 // of the possible goodput
	}{{"compute 1 ms", computing1(ms), 0.9}, {"pool", pools, 0.75}} {
		for _, times := range []float64{4, 10} {
			for _, batch := range []time.Duration{20 * ms, 40 * ms} {
				t.Run(fmt.Sprint(c.name, " at ", times, ", every ", batch), func(t *testing.T) {
					t.Parallel()
					const capacity = 1000
					r := simulate(load{kinds: c.kinds, deadline: 200 * ms, critical: 0.04, refusal: refusal, batch: batch, single: true, length: 6 * time.Second,
						rate: func(at time.Duration) float64 {
							if at < time.Second {
								return capacity / 2
							}
							return capacity * times
						}}, 1, true)
					got := r.between(3*time.Second, 5500*ms)
					t.Logf("goodput %.1f %%, p99 %v, refused %.2f %% %v, critical %.2f %%", 100*got.goodput/capacity, got.p99.Round(100*time.Microsecond),
						100*got.refusedShare, got.verdicts, 100*got.criticalGoodShare)
					if got.criticalGoodShare < 0.99 {
						t.Errorf("%.2f %% of the critical calls were answered in time, want 99", 100*got.criticalGoodShare)
					}
					if got.goodput < c.least*capacity {
						t.Errorf("goodput is %.1f %% of what is possible, want %.0f", 100*got.goodput/capacity, 100*c.least)
					}
				})
			}
		}
	}
}

// Of calls that compute no more are let in than keep the processors busy, so that they do not wait for one another. Those that come one by
// one, or are read together every millisecond, need fewer places than those that are read together seldom. At eight times the capacity a third of
// those that are let in are critical: each takes the place of another one that waits, or they would wait for these and for one another.
func TestShortQueue(t *testing.T) {
	for _, c := range []struct {
		cpu, batch time.Duration
		single     bool
		p99        [2]time.Duration
	}{
		{ms, 0, true, [2]time.Duration{7 * ms, 4 * ms}},
		{ms, ms, true, [2]time.Duration{7 * ms, 4 * ms}},
		{ms, 5 * ms, true, [2]time.Duration{11 * ms, 7 * ms}},
		{ms, 0, false, [2]time.Duration{6 * ms, 4 * ms}},
		{5 * ms, 0, true, [2]time.Duration{30 * ms, 20 * ms}},
		{ms / 5, ms, true, [2]time.Duration{5 * ms, 3 * ms}},
	} {
		for i, times := range []float64{1.5, 8} {
			t.Run(fmt.Sprint(c.cpu, " at ", times, ", every ", c.batch, ", single ", c.single), func(t *testing.T) {
				t.Parallel()
				capacity := 1 / c.cpu.Seconds()
				if !c.single {
					capacity *= processors
				}
				r := simulate(load{kinds: computing1(c.cpu), deadline: 200 * ms, critical: 0.04, refusal: refusal / 2, batch: c.batch, single: c.single,
					length: 4 * time.Second, rate: func(at time.Duration) float64 {
						if at < time.Second {
							return capacity / 2
						}
						return capacity * times
					}}, 1, true)
				got := r.between(2500*ms, 3800*ms)
				t.Logf("goodput %.1f %%, p99 %v, refused %.2f %% %v, critical %.2f %%, limit %d", 100*got.goodput/capacity, got.p99.Round(100*time.Microsecond),
					100*got.refusedShare, got.verdicts, 100*got.criticalGoodShare, r.c.places.limit.Load())
				if got.p99 > c.p99[i] {
					t.Errorf("the slowest 1 %% took %v, want %v at most", got.p99, c.p99[i])
				}
				if got.goodput < 0.95*capacity {
					t.Errorf("goodput is %.1f %% of what is possible, want 95", 100*got.goodput/capacity)
				}
			})
		}
	}
}

// A process stands still at times, as in a container that has used up its share of the processors. Under overload
// it answers as many calls as it can in the other time, and otherwise refuses none for that.
func TestStandingStill(t *testing.T) {
	pools := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 10 * ms, slots: 10}}
	sleeps := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 20 * ms}}
	mix := []kind{{share: 0.9, cpu: 200 * time.Microsecond}, {share: 0.1, cpu: 20 * time.Microsecond, sleep: 200 * ms}}
	const mixRate = 1 / (0.9*200e-6 + 0.1*20e-6)
	for _, c := range []struct {
		name        string
		kinds       []kind
		rate        float64
		stall       time.Duration
		every       time.Duration
		deadline    time.Duration
		least       float64 // answered in time in a second
		refusesNone bool
	}{
		{"pool, overloaded", pools, 4_000, 100 * ms, 0, time.Second, 810, false},
		{"pool, much overloaded", pools, 10_000, 100 * ms, 0, time.Second, 810, false},
		{"compute 1 ms, much overloaded", computing1(ms), 10_000, 100 * ms, 0, time.Second, 810, false},
		{"pool, much overloaded, calls without much time", pools, 10_000, 50 * ms, 0, 200 * ms, 855, false},
		{"pool at half its capacity", pools, 500, 50 * ms, 0, 200 * ms, 450, true},
		{"sleep 20 ms", sleeps, 1_500, 50 * ms, 0, 200 * ms, 1400, true},
		{"mix, overloaded, with half a processor", mix, 0.75 * mixRate, 50 * ms, 100 * ms, time.Second, 0.9 * mixRate / 2, false},
		{"mix, much overloaded, with a quarter of a processor", mix, 0.75 * mixRate, 75 * ms, 100 * ms, time.Second, 0.9 * mixRate / 4, false},
		{"mix at half its capacity, with half a processor", mix, mixRate / 4, 50 * ms, 100 * ms, time.Second, 0.98 * mixRate / 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := simulate(load{kinds: c.kinds, deadline: c.deadline, critical: 0.04, refusal: refusal, batch: ms, stall: c.stall, every: c.every, single: true, length: 8 * time.Second,
				rate: func(at time.Duration) float64 {
					if at < time.Second {
						return min(c.rate, 500)
					}
					return c.rate
				}}, 1, true)
			got := r.between(3*time.Second, 7*time.Second)
			t.Logf("goodput %.0f, p99 %v, refused %.2f %% %v, critical %.2f %%", got.goodput, got.p99.Round(100*time.Microsecond),
				100*got.refusedShare, got.verdicts, 100*got.criticalGoodShare)
			if got.goodput < c.least {
				t.Errorf("%.0f calls were answered in time in a second, want %.0f", got.goodput, c.least)
			}
			if c.refusesNone && got.refused > 0 {
				t.Errorf("%d calls were refused", got.refused)
			}
			if got.criticalGoodShare < 0.99 {
				t.Errorf("%.2f %% of the critical calls were answered in time, want 99", 100*got.criticalGoodShare)
			}
		})
	}
}

// A method whose calls come in bursts, with pauses that are longer than a window, is known as well as one whose calls come evenly: in a
// pause the process does not stand still.
func TestCallsInBursts(t *testing.T) {
	pool := func(sleep time.Duration) []kind {
		return []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: sleep, slots: 10}}
	}
	bursts := func(rate float64) func(at time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at%(300*ms) < 30*ms {
				return rate
			}
			return 0
		}
	}
	const capacity = 1000
	t.Run("more than can be answered", func(t *testing.T) {
		t.Parallel()
		r := simulate(load{kinds: pool(10 * ms), deadline: time.Second, refusal: refusal, length: 10 * time.Second, rate: bursts(15 * capacity)}, 1, true)
		got := r.between(3*time.Second, 9*time.Second)
		t.Logf("goodput %.0f, p99 %v, refused %.2f %% %v, %v", got.goodput, got.p99.Round(100*time.Microsecond), 100*got.refusedShare, got.verdicts, r.c.journal.last())
		if got.goodput < 0.75*capacity {
			t.Errorf("%.0f calls were answered in time in a second, want %.0f", got.goodput, 0.75*capacity)
		}
	})
	t.Run("after an overload", func(t *testing.T) {
		t.Parallel()
		const change = 3 * time.Second
		after := bursts(4 * capacity)
		r := simulate(load{kinds: pool(40 * ms), deadline: 200 * ms, refusal: refusal, length: 8 * time.Second,
			change: func(at time.Duration, k *kind) {
				if at >= change {
					k.sleep = 10 * ms
				}
			},
			rate: func(at time.Duration) float64 {
				if at < change {
					return 0.75 * capacity // three times what can be answered then
				}
				return after(at)
			}}, 1, true)
		before, got := r.between(time.Second, change), r.between(change+3*time.Second, 7500*ms)
		t.Logf("refused %.2f %% before, and then %.2f %% %v; %v", 100*before.refusedShare, 100*got.refusedShare, got.verdicts, r.c.journal.last())
		if before.refused == 0 {
			t.Error("nothing was refused of what was too much")
		}
		if got.refused > 0 || got.good < got.offered {
			t.Errorf("of %d calls, 0.4 of what can be answered, %d were refused, and %d answered in time", got.offered, got.refused, got.good)
		}
	})
	t.Run("of handlers that sleep", func(t *testing.T) {
		t.Parallel()
		sleeps := []kind{{share: 1, cpu: 20 * time.Microsecond, sleep: 400 * ms}}
		r := simulate(load{kinds: sleeps, deadline: 2 * time.Second, refusal: refusal, length: 8 * time.Second, rate: bursts(10_000)}, 1, true)
		if got := r.between(0, 7*time.Second); got.refused > 0 {
			t.Errorf("%d calls were refused", got.refused)
		}
	})
}

// Random mixes of methods, on servers that are overloaded and on some that are not.
func TestRandomMixes(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 2))
			l := load{deadline: time.Duration(200+rng.IntN(1800)) * ms, length: 10 * time.Second, critical: 0.04, refusal: refusal}
			cost := 0.0
			n := 1 + rng.IntN(3)
			for range n {
				k := kind{share: 1 / float64(n), cpu: time.Duration(100+rng.IntN(1500)) * time.Microsecond}
				if rng.IntN(2) == 0 {
					k.sleep = time.Duration(5+rng.IntN(int(l.deadline/ms)/4)) * ms
				}
				cost += k.share * k.cpu.Seconds()
				l.kinds = append(l.kinds, k)
			}
			capacity := processors / cost
			times := 0.3 + rng.Float64()/2
			if seed%2 == 0 {
				times = 1.5 + rng.Float64()*6
			}
			const before, after = 2 * time.Second, 4 * time.Second
			l.rate = func(at time.Duration) float64 {
				if at < before || at >= l.length-after {
					return capacity * min(times, 0.5)
				}
				return capacity * times
			}
			r := &run{load: l, rng: rng}
			r.each = func() {
				if limit := r.c.places.limit.Load(); limit < r.c.least.Load() || limit > r.c.most {
					t.Errorf("the limit is %d, which is not from %d to %d", limit, r.c.least.Load(), r.c.most)
				}
			}
			r.start(true)
			got := r.between(before+2*time.Second, l.length-after)
			possible := min(float64(got.offered)/(l.length-after-before-2*time.Second).Seconds(), capacity)
			t.Logf("%v deadline %v, %.1f times: goodput %.1f %%, refused %.2f %% %v, critical %.2f %%", l.kinds, l.deadline, times,
				100*got.goodput/possible, 100*got.refusedShare, got.verdicts, 100*got.criticalGoodShare)
			if got.goodput < 0.9*possible {
				t.Errorf("goodput is %.1f %% of what is possible", 100*got.goodput/possible)
			}
			if times < 0.8 && got.refused > 0 {
				t.Errorf("%d calls were refused below 0.8 of the capacity", got.refused)
			}
			if got.criticalGoodShare < 0.98 {
				t.Errorf("%.2f %% of the critical calls were answered in time", 100*got.criticalGoodShare)
			}
			if end := r.between(l.length-2500*ms, l.length-2000*ms); end.refusedShare > 0.01 || float64(end.good) < 0.98*float64(end.offered) {
				t.Errorf("1.5 s after the overload %d of %d calls were refused, and %d answered in time", end.refused, end.offered, end.good)
			}
			// Nothing of it is left when the server has been idle.
			r.c.State(r.now + int64(time.Minute))
			if s := r.c.State(r.now + int64(61*time.Second)); s.Limit != s.Most {
				t.Errorf("after a minute without calls the limit is %d", s.Limit)
			}
			for _, m := range r.methods {
				m.State(r.now + int64(time.Minute))
				if s := m.State(r.now + int64(61*time.Second)); s.Limit != 0 || s.Mode != Open {
					t.Errorf("after a minute without calls a method has limit %d, mode %v", s.Limit, s.Mode)
				}
			}
		})
	}
}
