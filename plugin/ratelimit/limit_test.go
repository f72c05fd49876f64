package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

func named(name string) keyed.Key {
	k, _ := keyed.Principal.Parse(name) // an error is that of an address
	return k
}

// one is a Limiter with one limit.
type one struct{ Limiter }

func newOne(rate float64, burst, keys int) *one {
	return &one{Limiter{limits: []*limit{newLimit(keyed.Scope{}, rate, burst, keys)}}}
}

// takeOf takes a call of a key.
func (o *one) takeOf(key keyed.Key, now time.Duration) time.Duration {
	_, wait := o.take("Arith.Mul", []keyed.Key{key}, now)
	return wait
}

// Of a steady stream of calls as many are taken as the rate says, after a burst.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		rate  float64
		burst int
	}{{1, 1}, {10, 5}, {1000, 1000}, {0.5, 3}} {
		l := newOne(tt.rate, tt.burst, 1)
		taken := 0
		for now := time.Duration(0); now < 100*time.Second; now += time.Millisecond / 2 {
			if wait := l.takeOf(keyed.Key{}, now); wait == 0 {
				taken++
			} else if later := l.takeOf(keyed.Key{}, now+wait); later != 0 {
				t.Fatalf("%+v: after the wait of %v there is another of %v", tt, wait, later)
			} else {
				l = newOne(tt.rate, tt.burst, 1) // that was a look ahead
				break
			}
		}
		taken = 0
		for now := time.Duration(0); now < 100*time.Second; now += time.Millisecond / 2 {
			if l.takeOf(keyed.Key{}, now) == 0 {
				taken++
			}
		}
		if want := int(tt.rate*100) + tt.burst; taken < want-2 || taken > want+1 {
			t.Errorf("%+v: %d calls were taken in 100 s, want %d", tt, taken, want)
		}
	}
}

// A call that was read before another one, and comes after it, does not wait for what has passed.
func TestOutOfOrder(t *testing.T) {
	l := newOne(1, 1, 100)
	for _, call := range []struct {
		key  string
		at   time.Duration
		want time.Duration
	}{{"ada", 0, 0}, {"bob", time.Second, 0}, {"ada", time.Second / 2, 0}, {"bob", time.Second / 2, time.Second}} {
		if got := l.takeOf(named(call.key), call.at); got != call.want {
			t.Errorf("%s at %v is to wait %v, want %v", call.key, call.at, got, call.want)
		}
	}
}

// Keys that come and go do not get a new burst each, and do not fill the memory.
func TestManyKeys(t *testing.T) {
	l := newOne(1, 1, 100)
	taken := 0
	for i := range 10_000 {
		if l.takeOf(named(fmt.Sprint(i)), 0) == 0 {
			taken++
		}
	}
	if taken != 101 || l.limits[0].keys.Len() != 100 {
		t.Errorf("%d calls were taken, of 100 keys and of the rest together; %d keys are known", taken, l.limits[0].keys.Len())
	}
	// After a while the old ones make room.
	if l.takeOf(named("new"), 10*time.Second) != 0 || l.takeOf(named("other"), 10*time.Second) != 0 || l.limits[0].keys.Len() != 100 {
		t.Error("a key that was idle does not make room")
	}
	if l.takeOf(named("new"), 10*time.Second) == 0 {
		t.Error("a key has two bursts")
	}
}

// A call that one limit refuses is not counted against another, whatever their order: a caller that is beyond its own rate
// takes nothing from the others.
func TestRefusedByOne(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		both := [2]*limit{newLimit(keyed.Scope{By: Server}, 1, 10, 1), newLimit(keyed.Scope{By: Principal}, 1, 2, 100)}
		l := &Limiter{limits: []*limit{both[order[0]], both[order[1]]}}
		take := func(name string) (By, time.Duration) {
			keys := [2]keyed.Key{{}, named(name)}
			by, wait := l.take("Arith.Mul", []keyed.Key{keys[order[0]], keys[order[1]]}, 0)
			if by == nil {
				return "", 0
			}
			return by.By, wait
		}
		taken := map[string]int{}
		for range 100 {
			for _, name := range []string{"ada", "bob", "eve", "kim"} {
				if by, wait := take(name); by == "" {
					taken[name]++
				} else if by != Principal || wait <= 0 {
					t.Fatalf("%s is refused by %s for %v", name, by, wait)
				}
			}
		}
		for name, n := range taken {
			if n != 2 {
				t.Errorf("%d calls of %s were taken, want its burst of 2", n, name)
			}
		}
		// The two that are left of the server's ten: a caller is told the longest time to wait.
		for _, name := range []string{"lee", "lee"} {
			if by, _ := take(name); by != "" {
				t.Errorf("%s is refused by %s", name, by)
			}
		}
		if by, wait := take("max"); by != Server || wait != time.Second {
			t.Errorf("the next caller is refused by %q for %v, want the server for a second", by, wait)
		}
	}
}
