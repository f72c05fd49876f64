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

// Of a steady stream of calls as many are taken as the rate says, after a burst.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		rate  float64
		burst int
	}{{1, 1}, {10, 5}, {1000, 1000}, {0.5, 3}} {
		l := newLimit(keyed.Scope{}, tt.rate, tt.burst, 1)
		taken := 0
		for now := time.Duration(0); now < 100*time.Second; now += time.Millisecond / 2 {
			if wait := l.take(keyed.Key{}, now); wait == 0 {
				taken++
			} else if later := l.take(keyed.Key{}, now+wait); later != 0 {
				t.Fatalf("%+v: after the wait of %v there is another of %v", tt, wait, later)
			} else {
				l = newLimit(keyed.Scope{}, tt.rate, tt.burst, 1) // that was a look ahead
				break
			}
		}
		taken = 0
		for now := time.Duration(0); now < 100*time.Second; now += time.Millisecond / 2 {
			if l.take(keyed.Key{}, now) == 0 {
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
	l := newLimit(keyed.Scope{}, 1, 1, 100)
	for _, call := range []struct {
		key  string
		at   time.Duration
		want time.Duration
	}{{"ada", 0, 0}, {"bob", time.Second, 0}, {"ada", time.Second / 2, 0}, {"bob", time.Second / 2, time.Second}} {
		if got := l.take(named(call.key), call.at); got != call.want {
			t.Errorf("%s at %v is to wait %v, want %v", call.key, call.at, got, call.want)
		}
	}
}

// Keys that come and go do not get a new burst each, and do not fill the memory.
func TestManyKeys(t *testing.T) {
	l := newLimit(keyed.Scope{}, 1, 1, 100)
	taken := 0
	for i := range 10_000 {
		if l.take(named(fmt.Sprint(i)), 0) == 0 {
			taken++
		}
	}
	if taken != 101 || l.keys.Len() != 100 {
		t.Errorf("%d calls were taken, of 100 keys and of the rest together; %d keys are known", taken, l.keys.Len())
	}
	// After a while the old ones make room.
	if l.take(named("new"), 10*time.Second) != 0 || l.take(named("other"), 10*time.Second) != 0 || l.keys.Len() != 100 {
		t.Error("a key that was idle does not make room")
	}
	if l.take(named("new"), 10*time.Second) == 0 {
		t.Error("a key has two bursts")
	}
}
