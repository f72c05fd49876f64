package reserve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

// of makes a context that ends a minute before its parent.
func of(parent context.Context) *shorter {
	until, _ := parent.Deadline()
	return &shorter{Context: parent, until: until.Add(-time.Minute)}
}

// The context does what one of context.WithDeadline does, with a channel and without.
func TestShorter(t *testing.T) {
	for _, watch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, 1), time.Hour)
			defer cancel()
			s := of(parent)
			if watch {
				s.Done()
			}
			if at, ok := s.Deadline(); !ok || time.Until(at) != 59*time.Minute || s.Err() != nil || s.Value(key{}) != 1 {
				t.Error(at, ok, s.Err(), s.Value(key{}))
			}
			time.Sleep(59 * time.Minute)
			synctest.Wait()
			if s.Err() != context.DeadlineExceeded || parent.Err() != nil {
				t.Error(s.Err(), parent.Err())
			}
			<-s.Done()
			s.end()
			if s.Err() != context.DeadlineExceeded {
				t.Error("the error has changed:", s.Err())
			}

			s = of(parent)
			s.until = time.Now().Add(time.Second)
			if watch {
				s.Done()
			}
			s.end()
			<-s.Done()
			time.Sleep(time.Minute)
			if s.Err() != context.Canceled {
				t.Error(s.Err())
			}

			parent, cancel = context.WithTimeout(t.Context(), time.Hour)
			s = of(parent)
			if watch {
				s.Done()
			}
			cancel()
			<-s.Done()
			if s.Err() != context.Canceled {
				t.Error(s.Err())
			}
		})
	}
}

// The first error stays, whatever happens to the context of the call, and to the channel, afterwards.
func TestShorterKeepsItsError(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(s *shorter, cancel func())
		want    error
	}{
		"the deadline, asked for": {func(s *shorter, _ func()) { time.Sleep(time.Hour - time.Minute) }, context.DeadlineExceeded},
		"the caller":              {func(_ *shorter, cancel func()) { cancel() }, context.Canceled},
		"the handler":             {func(s *shorter, _ func()) { s.end() }, context.Canceled},
		"the deadline, not asked for": {func(s *shorter, _ func()) {
			time.Sleep(time.Hour - time.Minute)
			s.end()
		}, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			cause := errors.New("the cause")
			parent, cancel := context.WithCancelCause(t.Context())
			deadline, stop := context.WithTimeout(parent, time.Hour)
			defer stop()
			s := of(deadline)
			tt.happens(s, func() { cancel(cause) })
			is := func(when string) {
				t.Helper()
				if err := s.Err(); err != tt.want {
					t.Errorf("%s, %s: %v, want %v", name, when, err, tt.want)
				}
			}
			is("at first")
			cancel(cause)
			is("when the caller has cancelled")
			time.Sleep(2 * time.Hour)
			is("after the deadline")
			child, release := context.WithCancel(s)
			defer release()
			<-s.Done()
			is("with a channel")
			if <-child.Done(); child.Err() != tt.want {
				t.Errorf("%s: the error of a child is %v, want %v", name, child.Err(), tt.want)
			}
			if got := context.Cause(s); name == "the caller" && got != cause {
				t.Errorf("the cause is %v", got)
			}
			s.end()
			is("when the handler has returned")
		})
	}
}

// What is made of the context ends with it, without a goroutine that waits.
func TestShorterChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s := of(parent)
		child, stop := context.WithCancel(s)
		defer stop()
		ran := make(chan struct{})
		context.AfterFunc(s, func() { close(ran) })
		time.Sleep(59 * time.Minute)
		<-ran
		if <-child.Done(); !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Error(child.Err())
		}
	})
}

// The channel is closed whether it is asked for before the end, after it, or at the same time.
func TestShorterRace(t *testing.T) {
	for range 1000 {
		parent, cancel := context.WithTimeout(t.Context(), time.Hour)
		s := of(parent)
		asked := make(chan (<-chan struct{}), 2)
		for range 2 {
			go func() { asked <- s.Done() }() // it ends at once
		}
		s.end()
		<-<-asked
		<-<-asked
		cancel()
	}
}

// A call whose handler asks for no channel gets one context and no timer.
func TestAllocations(t *testing.T) {
	r, err := New(&Config{Percent: 10})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	handler := func(ctx context.Context) {
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			t.Error("the context is wrong")
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		s := r.shorten(ctx, "Arith.Mul", time.Now())
		handler(s)
		s.end()
	}); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}
