package due

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type key struct{}

// TestEnds ends contexts in every way, with something that waits and without: each then has the error of package context.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Context, context.CancelFunc)
		want error
	}{
		"by End":         {func(c *Context, _ context.CancelFunc) { c.End() }, context.Canceled},
		"by the parent":  {func(_ *Context, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"at its time":    {func(*Context, context.CancelFunc) { time.Sleep(time.Second) }, context.DeadlineExceeded},
		"after its time": {func(c *Context, _ context.CancelFunc) { time.Sleep(2 * time.Second); c.End() }, context.DeadlineExceeded},
	} {
		for _, waits := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				defer cancel()
				d := After(parent, time.Second)
				defer d.End()
				if at, ok := d.Deadline(); !ok || time.Until(at) != time.Second {
					t.Errorf("%s: the deadline is in %v", name, time.Until(at))
				}
				var done <-chan struct{}
				if waits {
					done = d.Done()
				}
				if err := d.Err(); err != nil || d.Value(key{}) != "value" {
					t.Errorf("%s: before the end: %v, %v", name, err, d.Value(key{}))
				}
				c.end(d, cancel)
				synctest.Wait()
				if err := d.Err(); !errors.Is(err, c.want) {
					t.Errorf("%s, waits %v: %v, want %v", name, waits, err, c.want)
				}
				// What happens later does not change it.
				time.Sleep(2 * time.Second)
				cancel()
				d.End()
				if !waits {
					done = d.Done()
				}
				select {
				case <-done:
				default:
					t.Errorf("%s, waits %v: Done is open", name, waits)
				}
				if err := d.Err(); !errors.Is(err, c.want) || d.Value(key{}) != "value" {
					t.Errorf("%s, waits %v: later %v, and the value %v", name, waits, err, d.Value(key{}))
				}
				child, stop := context.WithCancel(d)
				defer stop()
				if !errors.Is(child.Err(), c.want) {
					t.Errorf("%s, waits %v: a child has ended with %v", name, waits, child.Err())
				}
			})
		}
	}
}

// TestChildren makes contexts of one: they end with it, and package context needs no goroutine for them.
func TestChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := After(context.Background(), time.Minute)
		child, cancel := context.WithCancel(d)
		defer cancel()
		ran := false
		stop := context.AfterFunc(d, func() { ran = true })
		defer stop()
		d.End()
		synctest.Wait()
		if !errors.Is(child.Err(), context.Canceled) || !ran {
			t.Errorf("a child has ended with %v, AfterFunc ran: %v", child.Err(), ran)
		}
	})
}

// endless has a deadline and never ends by itself.
type endless struct {
	context.Context
	at time.Time
}

func (e endless) Deadline() (time.Time, bool) { return e.at, true }

// TestEndlessParent has a parent that does not end at its own deadline: the context does.
func TestEndlessParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := After(endless{context.Background(), time.Now().Add(time.Second)}, time.Second)
		defer d.End()
		<-d.Done()
		if !errors.Is(d.Err(), context.DeadlineExceeded) {
			t.Error(d.Err())
		}
	})
}

// TestAllocations makes contexts for which nothing waits.
func TestAllocations(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		c := After(parent, time.Minute)
		if c.Err() != nil {
			t.Error(c.Err())
		}
		c.End()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
