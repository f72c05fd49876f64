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

// TestCause ends contexts in every way: the cause is that of package context, whatever is asked first and whatever happens later.
func TestCause(t *testing.T) {
	why := errors.New("why")
	for name, c := range map[string]struct {
		end  func(*Context, context.CancelCauseFunc)
		want error
	}{
		"by End":        {func(c *Context, _ context.CancelCauseFunc) { c.End() }, context.Canceled},
		"by the parent": {func(_ *Context, cancel context.CancelCauseFunc) { cancel(why) }, why},
		"at its time":   {func(*Context, context.CancelCauseFunc) { time.Sleep(time.Second) }, context.DeadlineExceeded},
	} {
		for _, first := range []string{"", "Done", "Err", "Value"} {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(t.Context())
				d := After(parent, time.Second)
				defer d.End()
				if first == "Done" {
					d.Done()
				}
				c.end(d, cancel)
				synctest.Wait()
				switch first {
				case "Err":
					_ = d.Err()
				case "Value":
					d.Value(key{})
				}
				if got := context.Cause(d); got != c.want {
					t.Errorf("%s, first %s: the cause is %v, want %v", name, first, got, c.want)
				}
				time.Sleep(time.Second)
				cancel(errors.New("later"))
				child, stop := context.WithCancel(d)
				defer stop()
				for _, ctx := range []context.Context{d, child, context.WithValue(d, key{}, 1)} {
					if got := context.Cause(ctx); got != c.want {
						t.Errorf("%s, first %s: later the cause is %v, want %v", name, first, got, c.want)
					}
				}
			})
		}
	}
}

// TestReceive waits with one alarm for channels and for contexts that end in every way. Afterwards nothing is left of an earlier end.
func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Alarm
		ch := make(chan int, 1)
		for name, c := range map[string]struct {
			act  func(*Context, context.CancelFunc)
			want error // nil: it receives
		}{
			"a value":    {func(*Context, context.CancelFunc) { ch <- 7 }, nil},
			"End":        {func(d *Context, _ context.CancelFunc) { d.End() }, context.Canceled},
			"the parent": {func(_ *Context, cancel context.CancelFunc) { cancel() }, context.Canceled},
			"the time":   {func(*Context, context.CancelFunc) { time.Sleep(time.Hour) }, context.DeadlineExceeded},
		} {
			for _, as := range []string{"alone", "with its channel", "as a value", "beside another"} {
				parent, cancel := context.WithCancel(t.Context())
				d := After(parent, time.Minute)
				ctx := context.Context(d)
				switch as {
				case "with its channel":
					d.Done()
				case "as a value":
					ctx = context.WithValue(d, key{}, 1)
				case "beside another":
					go Receive(d, new(Alarm), make(chan int)) // it ends with d
					synctest.Wait()
				}
				ended := make(chan struct{})
				go func() { // it ends below
					defer close(ended)
					time.Sleep(time.Second)
					c.act(d, cancel)
				}()
				began := time.Now()
				v, ok := Receive(ctx, &a, ch)
				took := time.Since(began)
				if ok != (c.want == nil) || ok && v != 7 || !ok && !errors.Is(d.Err(), c.want) {
					t.Errorf("%s, %s: %v, %v, and the context has ended with %v", name, as, v, ok, d.Err())
				}
				if want := time.Second; took != want && (!errors.Is(c.want, context.DeadlineExceeded) || took != time.Minute) {
					t.Errorf("%s, %s: after %v", name, as, took)
				}
				<-ended
				d.End()
				if _, ok := Receive(d, &a, ch); ok {
					t.Errorf("%s, %s: it receives with a context that has ended", name, as)
				}
				cancel()
			}
		}
	})
}

// TestReceiveBesideDone: when Receive has found the end of a context, Err says why, also when another goroutine has asked for the channel meanwhile.
func TestReceiveBesideDone(t *testing.T) {
	var a Alarm
	for i := range 300 {
		parent, cancel := context.WithCancel(t.Context())
		d := After(parent, time.Duration(i%3+1)*time.Millisecond)
		go func() { // it ends with d
			time.Sleep(500 * time.Microsecond)
			<-d.Done()
		}()
		if i%2 == 0 {
			time.AfterFunc(900*time.Microsecond, cancel)
		}
		if _, ok := Receive(d, &a, make(chan int)); ok || d.Err() == nil {
			t.Fatalf("it has received %v, and the context has ended with %v", ok, d.Err())
		}
		d.End()
		cancel()
	}
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

// TestAllocationsOfWaiting waits with a context that is a part of another value.
func TestAllocationsOfWaiting(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	parent.Done()
	var a Alarm
	ask, ch := make(chan struct{}), make(chan struct{})
	defer close(ask)
	go func() { // it ends with ask
		for range ask {
			ch <- struct{}{}
		}
	}()
	var part struct{ Context }
	if n := testing.AllocsPerRun(100, func() {
		part = struct{ Context }{}
		part.Begin(parent, time.Minute)
		ask <- struct{}{}
		if _, ok := Receive(&part.Context, &a, ch); !ok {
			t.Error(part.Err())
		}
		part.End()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWatch has one function called again and again, by contexts that end in every way, and not by those that do not.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Alarm
		calls := make(chan time.Time, 1)
		f := func() {
			select {
			case calls <- time.Now():
			default: // it may be called more than once
			}
		}
		for name, c := range map[string]struct {
			act   func(d *Context, cancel context.CancelFunc)
			after time.Duration
		}{
			"End":        {func(d *Context, _ context.CancelFunc) { d.End() }, time.Second},
			"the parent": {func(_ *Context, cancel context.CancelFunc) { cancel() }, time.Second},
			"the time":   {func(*Context, context.CancelFunc) {}, time.Minute},
		} {
			for _, as := range []string{"alone", "with its channel", "with its channel later", "as a value", "stopped"} {
				parent, cancel := context.WithCancel(t.Context())
				d := After(parent, time.Minute)
				ctx := context.Context(d)
				switch as {
				case "with its channel":
					d.Done()
				case "as a value":
					ctx = context.WithValue(d, key{}, 1)
				}
				began := time.Now()
				a.Watch(ctx, f)
				switch as {
				case "with its channel later":
					d.Done()
				case "stopped":
					a.Stop()
				}
				time.Sleep(time.Second)
				c.act(d, cancel)
				if as != "stopped" {
					for at := range calls {
						if took := at.Sub(began); took != c.after {
							t.Errorf("%s, %s: called after %v", name, as, took)
						}
						if d.Err() != nil {
							break
						}
					}
					a.Stop()
					synctest.Wait()
					for len(calls) > 0 {
						<-calls
					}
				}
				d.End()
				cancel()
				time.Sleep(time.Hour)
				if len(calls) > 0 {
					t.Errorf("%s, %s: called once more", name, as)
					<-calls
				}
			}
		}
	})
}

// TestAllocationsOfWatching watches contexts whose parents do not end.
func TestAllocationsOfWatching(t *testing.T) {
	var a Alarm
	var part struct{ Context }
	f := func() { t.Error("the context has ended") }
	if n := testing.AllocsPerRun(100, func() {
		part = struct{ Context }{}
		part.Begin(context.Background(), time.Minute)
		a.Watch(&part.Context, f)
		a.Stop()
		part.End()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSame compares contexts, among them those that cannot be compared.
func TestSame(t *testing.T) {
	type list struct {
		context.Context
		_ []int
	}
	if b := context.Background(); !Same(b, b) || !Same(t.Context(), t.Context()) || Same(b, context.WithoutCancel(b)) || Same(list{Context: b}, list{Context: b}) {
		t.Error("contexts are not compared as they should be")
	}
}
