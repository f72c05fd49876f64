package throttle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// server accepts so many calls a second and refuses the others, after a while.
type server struct {
	capacity float64
	delay    time.Duration
	room     float64
	at       time.Duration
	pending  []refusal
}

type refusal struct {
	at      time.Duration
	counted bool
}

// drive makes calls at a rate and returns how many were sent and accepted.
func (s *server) drive(t *Throttle, rng *rand.Rand, from, to time.Duration, rate float64) (made, sent, accepted int) {
	for now := from; now < to; now += time.Duration(float64(time.Second) / rate) {
		for len(s.pending) > 0 && s.pending[0].at <= now {
			t.Refused(now, weft.PriorityDefault, s.pending[0].counted)
			s.pending = s.pending[1:]
		}
		made++
		s.room = min(s.room+(now-s.at).Seconds()*s.capacity, s.capacity/10)
		s.at = now
		ok, counted := t.Allow(now, weft.PriorityDefault, rng.Uint64())
		if !ok {
			continue
		}
		sent++
		if s.room >= 1 {
			s.room--
			accepted++
		} else {
			s.pending = append(s.pending, refusal{now + s.delay, counted})
		}
	}
	return made, sent, accepted
}

// About twice as many calls are sent as are accepted; nearly as many are accepted as can be;
// and all are sent again soon after the overload.
func TestThrottle(t *testing.T) {
	for _, times := range []float64{3, 10, 50} {
		for _, delay := range []time.Duration{time.Millisecond, 200 * time.Millisecond} {
			t.Run(fmt.Sprint(times, " times, refusals after ", delay), func(t *testing.T) {
				const capacity = 1000
				rng := rand.New(rand.NewPCG(1, 2))
				var th Throttle
				s := &server{capacity: capacity, delay: delay, room: 10}
				sec := time.Second
				if _, sent, accepted := s.drive(&th, rng, 0, 5*sec, capacity/2); sent != accepted || th.Active(5*sec) {
					t.Errorf("without overload %d were sent, %d accepted", sent, accepted)
				}
				s.drive(&th, rng, 5*sec, 8*sec, times*capacity)
				_, sent, accepted := s.drive(&th, rng, 8*sec, 13*sec, times*capacity)
				if accepted < 0.9*5*capacity {
					t.Errorf("%d calls were accepted in 5 s, of %d possible", accepted, 5*capacity)
				}
				if sent > 2.7*5*capacity {
					t.Errorf("%d calls were sent for %d that were accepted", sent, accepted)
				}
				s.drive(&th, rng, 13*sec, 17*sec, capacity/2)
				if made, sent, _ := s.drive(&th, rng, 17*sec, 19*sec, capacity/2); sent < made*98/100 {
					t.Errorf("four seconds after the overload %d of %d calls were sent", sent, made)
				}
				if th.Throttled() == 0 {
					t.Error("no call was counted as throttled")
				}
				s.drive(&th, rng, 19*sec, 40*sec, capacity/2)
				if th.Active(40 * sec) {
					t.Error("the throttle still counts")
				}
			})
		}
	}
}

// A call a second is sent when all are refused.
func TestACallASecondIsSent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var th Throttle
	s := &server{}
	s.drive(&th, rng, 0, 20*time.Second, 100)
	if _, sent, _ := s.drive(&th, rng, 20*time.Second, 30*time.Second, 100); sent < 9 || sent > 40 {
		t.Errorf("%d calls were sent in 10 s", sent)
	}
}

// While calls are held back, refused ones are not made again, and otherwise so many that they are about a tenth of the calls,
// however much the client may spend on them.
func TestAgain(t *testing.T) {
	const rate = 1000
	for _, c := range []struct {
		name        string
		refused     float64 // of the calls that are sent
		least, most float64 // further attempts for each call that is sent
	}{
		{"nine of ten are refused", 0.9, 0, 0.02},
		{"three of four are refused", 0.75, 0, 0.02},
		{"one of three is refused", 0.33, 0.09, 0.12},
		{"one of twenty is refused", 0.05, 0.04, 0.06},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			var th Throttle
			sent, again := 0, 0
			for i := range 10 * rate {
				now := time.Duration(i) * time.Second / rate
				if i == rate {
					sent, again = 0, 0 // the first second is that in which the client learns of it
				}
				for first := true; ; first = false {
					ok, counted := th.Allow(now, weft.PriorityDefault, rng.Uint64())
					if !ok {
						break
					}
					if first {
						sent++
					} else {
						again++
					}
					if rng.Float64() >= c.refused {
						break
					}
					th.Refused(now, weft.PriorityDefault, counted)
					if !th.Again(now, weft.PriorityDefault) {
						break
					}
				}
			}
			if got := float64(again) / float64(sent); got < c.least || got > c.most {
				t.Errorf("%d further attempts for %d calls that were sent, want from %v to %v for each", again, sent, c.least, c.most)
			}
		})
	}
}

// A burst of refusals by one of several servers, of calls that were sent before anything was counted, is followed by as many further
// attempts, up to a bound. What quiet times leave for more is little.
func TestAgainAtOnce(t *testing.T) {
	var th Throttle
	again := func(now time.Duration, counted bool) (n int) {
		for range 100 {
			th.Refused(now, weft.PriorityDefault, counted)
			if th.Again(now, weft.PriorityDefault) {
				n++
			}
		}
		return n
	}
	if n := again(0, false); n != first {
		t.Errorf("%d further attempts behind the first 100 refusals, want %d", n, first)
	}
	th = Throttle{}
	th.Refused(0, weft.PriorityDefault, false)
	for range first {
		th.Again(0, weft.PriorityDefault)
	}
	for i := range 10_000 {
		th.Allow(time.Duration(i)*time.Millisecond/2, weft.PriorityDefault, 1<<63)
	}
	if n := again(5*time.Second, true); n != kept {
		t.Errorf("%d further attempts at once after 10,000 calls that were accepted, want %d", n, kept)
	}
}

// A few refusals hold no call back.
func TestAFewRefusalsMeanNothing(t *testing.T) {
	var th Throttle
	for i := range 100 {
		now := time.Duration(i) * time.Second
		ok, counted := th.Allow(now, weft.PriorityDefault, 0)
		if !ok {
			t.Fatalf("call %d was not sent", i)
		}
		if i%3 == 0 {
			th.Refused(now, weft.PriorityDefault, counted)
		}
	}
}

// Priorities are counted apart, and calls that take long do not count as refused.
func TestPrioritiesApart(t *testing.T) {
	var th Throttle
	for range 1000 {
		th.Refused(time.Second, weft.PrioritySheddable, false)
	}
	for i := range 1000 {
		now := time.Second + time.Duration(i)*time.Millisecond/2
		if ok, counted := th.Allow(now, weft.PriorityCritical, 0); !ok || counted {
			t.Fatalf("a critical call: allowed %v, counted %v", ok, counted)
		}
	}
	if ok, _ := th.Allow(time.Second, weft.PrioritySheddable, 0); ok {
		t.Error("a sheddable call was sent")
	}
	if ok, _ := th.Allow(time.Second, weft.Priority(200), 0); !ok {
		t.Error("a call of an unknown priority was not sent")
	}
	th.Refused(2*time.Second, weft.PriorityDefault, false)
	for i := range 1000 { // they have not ended when the next is made
		th.Allow(2*time.Second+time.Duration(i)*time.Millisecond, weft.PriorityDefault, 1<<63)
	}
	if ok, _ := th.Allow(3*time.Second, weft.PriorityDefault, 1<<60); !ok {
		t.Error("calls that take long were taken for refused ones")
	}
}

func BenchmarkAllow(b *testing.B) {
	for _, active := range []bool{false, true} {
		b.Run(fmt.Sprintf("active=%v", active), func(b *testing.B) {
			b.ReportAllocs()
			var th Throttle
			if active {
				th.Refused(0, weft.PriorityDefault, false)
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					th.Allow(time.Millisecond, weft.PriorityDefault, 1<<63)
				}
			})
		})
	}
}
