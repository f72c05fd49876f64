package calls

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// owner has the calls of a table expire, and notes which and when.
type owner struct {
	sync.Mutex
	tab     Table[call, stream]
	epoch   time.Time
	late    []string
	at      []time.Duration
	expired int // how often the timer has fired
	ended   bool
}

func newOwner() *owner {
	o := &owner{epoch: time.Now().Add(-time.Second)}
	o.tab.Init(o)
	return o
}

func (o *owner) Now() int64 { return int64(time.Since(o.epoch)) }

func (o *owner) Expire() {
	o.Lock()
	defer o.Unlock()
	o.expired++
	o.tab.Expire(o.ended, func(c *call) {
		o.late = append(o.late, c.name)
		o.at = append(o.at, time.Duration(o.Now())-time.Second)
	})
}

// open opens a call that ends after a time; 0: it has no deadline.
func (o *owner) open(name string, after time.Duration) uint32 {
	o.Lock()
	defer o.Unlock()
	now, due := o.Now(), int64(0)
	if after > 0 {
		due = now + int64(after)
	}
	id, sl := o.tab.Take(due, 1<<10)
	o.tab.Watch(sl, id, now)
	sl.Call.Store(&call{name})
	return id
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		o.open("late", 3*time.Second)
		o.open("never", 0)
		o.open("soon", 20*time.Millisecond)
		answered := o.open("answered", time.Second)
		o.Lock()
		o.tab.Release(answered)
		o.Unlock()
		time.Sleep(10 * time.Second)
		o.Lock()
		defer o.Unlock()
		if want := []string{"soon", "late"}; !slices.Equal(o.late, want) {
			t.Fatalf("%q have expired, want %q", o.late, want)
		}
		for i, want := range []time.Duration{20 * time.Millisecond, 3 * time.Second} {
			if late := o.at[i] - want; late < 0 || late > time.Millisecond {
				t.Errorf("%s has expired after %v, want %v", o.late[i], o.at[i], want)
			}
		}
		if due := o.tab.deadlines.due; due != 0 && due < o.Now() {
			t.Errorf("the timer was to fire %v ago", time.Duration(o.Now()-due))
		}
		if n := o.tab.Open(); n != 3 {
			t.Errorf("%d slots are taken, want 3: the peer has not ended those calls", n)
		}
	})
}

// The timer is not set anew for a call whose deadline is later than one before it.
func TestOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		for range 1000 {
			id := o.open("quick", time.Second)
			o.Lock()
			o.tab.Release(id)
			o.Unlock()
			time.Sleep(time.Millisecond)
		}
		o.Lock()
		defer o.Unlock()
		if o.expired > 10 || len(o.late) > 0 {
			t.Errorf("the timer has fired %d times in a second for calls that ended in time, %d of them were late", o.expired, len(o.late))
		}
	})
}

// When the calls have come to their end the timer does not fire again.
func TestEndStopsTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		o.open("one", time.Second)
		o.Lock()
		o.tab.End(func(*call, uint64) {})
		o.Unlock()
		time.Sleep(time.Minute)
		if o.Lock(); o.expired > 0 {
			t.Errorf("the timer has fired %d times", o.expired)
		}
		o.Unlock()
		// One that fires just then does not set it again.
		o = newOwner()
		o.open("two", time.Second)
		o.open("three", time.Hour)
		o.Lock()
		o.ended = true
		o.Unlock()
		time.Sleep(2 * time.Hour)
		if o.Lock(); o.expired != 1 {
			t.Errorf("the timer has fired %d times, want once", o.expired)
		}
		o.Unlock()
	})
}
