package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queue is some goroutines that take turns of one Shared, and the order in which they got them.
type queue struct {
	Shared
	all sync.WaitGroup

	mu  sync.Mutex
	got []string
}

// join has a goroutine wait for a turn, which it gives back when done is closed.
func (q *queue) join(ctx context.Context, l *Line, name string, done <-chan struct{}) {
	q.all.Go(func() {
		if err := q.Take(ctx, l); err != nil {
			q.note(fmt.Sprint(name, ": ", err))
			return
		}
		q.note(name)
		<-done
		q.Give(l)
	})
	synctest.Wait()
}

func (q *queue) note(what string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.got = append(q.got, what)
}

// check compares what was noted so far, when all goroutines wait.
func (q *queue) check(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Equal(q.got, want) {
		t.Errorf("noted %q, want %q", q.got, want)
	}
}

// end checks that nothing is left behind.
func (q *queue) end(t *testing.T, lines ...*Line) {
	t.Helper()
	q.all.Wait()
	for i, l := range lines {
		if l.taken != 0 || l.waiting.Len() != 0 || l.at != nil {
			t.Errorf("line %d has %d turns, and %d goroutines wait in it", i, l.taken, l.waiting.Len())
		}
	}
	if q.taken != 0 || q.lines.Len() != 0 {
		t.Errorf("%d turns are taken, and %d lines wait", q.taken, q.lines.Len())
	}
}

// fill takes all turns, each in a line of its own, and returns how many and a function that gives one back.
func (q *queue) fill(t *testing.T) (n int, give func()) {
	_, n = bounds()
	all := make([]Line, n)
	for i := range all {
		if err := q.Take(t.Context(), &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return n, func() {
		q.Give(&all[0])
		all = all[1:]
	}
}

// One line has half of the processors at most, all together all but one, and each at least one turn.
func TestSharedBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, all := bounds()
		var q queue
		lines := make([]Line, 3)
		done := make(chan struct{})
		for range all + 1 {
			for i := range lines {
				q.join(t.Context(), &lines[i], "", done)
			}
		}
		q.Shared.mu.Lock()
		sum := 0
		for i := range lines {
			sum += lines[i].taken
			if lines[i].taken > one {
				t.Errorf("line %d has %d turns, want %d at most", i, lines[i].taken, one)
			}
		}
		if want := min(all, len(lines)*one); sum != want || q.taken != want {
			t.Errorf("%d and %d turns are taken, want %d", sum, q.taken, want)
		}
		q.Shared.mu.Unlock()
		close(done)
		q.all.Wait()
		if len(q.got) != len(lines)*(all+1) {
			t.Errorf("%d goroutines got a turn", len(q.got))
		}
		q.end(t, &lines[0], &lines[1], &lines[2])
	})
}

// Turns go from line to line, and in a line to the goroutine that came first: however many wait in the first line, one that joins the
// second goes before all but one of them.
func TestSharedFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		var a, b Line
		n, give := q.fill(t)
		done := make(chan struct{})
		for i := range 4 {
			q.join(t.Context(), &a, fmt.Sprint("a", i), done)
		}
		q.join(t.Context(), &b, "b0", done)
		q.join(t.Context(), &b, "b1", done)
		q.check(t)
		close(done) // each one that gets a turn gives it back at once
		give()
		q.check(t, "a0", "b0", "a1", "b1", "a2", "a3")
		for range n - 1 {
			give()
		}
		q.end(t, &a, &b)
	})
}

// Calls whose contexts end leave the line at once, and those behind them move up.
func TestSharedLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		var l, other Line
		n, give := q.fill(t)
		done := make(chan struct{})
		late, cancelLate := context.WithTimeout(t.Context(), time.Second)
		defer cancelLate()
		gone, cancel := context.WithCancel(t.Context())
		q.join(late, &l, "late", done)
		q.join(gone, &l, "gone", done)
		q.join(t.Context(), &l, "stays", done)
		q.join(gone, &other, "alone", done)
		began := time.Now()
		time.Sleep(2 * time.Second)
		q.check(t, "late: context deadline exceeded")
		cancel()
		synctest.Wait()
		q.mu.Lock()
		left := slices.Clone(q.got)
		q.mu.Unlock()
		if took := time.Since(began); took != 2*time.Second || len(left) != 3 || other.at != nil || l.waiting.Len() != 1 {
			t.Errorf("after %v there is %q, and %d goroutines wait", took, left, l.waiting.Len())
		}
		if err := q.Take(gone, &l); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that had ended: %v", err)
		}
		close(done)
		for range n {
			give()
		}
		q.check(t, append(left, "stays")...)
		q.end(t, &l, &other)
	})
}

// ending is a context that has ended when it is asked for the second time.
type ending struct {
	context.Context
	asked int
}

func (e *ending) Done() <-chan struct{} { return nil }
func (e *ending) Err() error {
	if e.asked++; e.asked > 1 {
		return context.Canceled
	}
	return nil
}

// A call that ends while it gets its turn gives the turn back.
func TestSharedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		var a, b Line
		n, give := q.fill(t)
		done := make(chan struct{})
		close(done)
		q.join(&ending{Context: t.Context()}, &a, "a", done)
		q.join(t.Context(), &b, "b", done)
		give()
		q.all.Wait()
		slices.Sort(q.got)
		q.check(t, "a: context canceled", "b")
		for range n - 1 {
			give()
		}
		q.end(t, &a, &b)
	})
}

// A turn that is free costs no memory.
func TestSharedAllocatesNothing(t *testing.T) {
	var s Shared
	var l Line
	if n := testing.AllocsPerRun(100, func() {
		_ = s.Take(t.Context(), &l)
		s.Give(&l)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Many goroutines of several lines, some of which give up: the bounds hold, and all end.
func TestSharedMany(t *testing.T) {
	_, most := bounds()
	var s Shared
	var mu sync.Mutex
	now := 0
	lines := make([]Line, 5)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			l := &lines[i%len(lines)]
			for n := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%3 == 0 {
					go cancel() // it ends at once
				}
				if s.Take(ctx, l) == nil {
					mu.Lock()
					if now++; now > most {
						t.Errorf("%d have a turn, want %d at most", now, most)
					}
					mu.Unlock()
					mu.Lock()
					now--
					mu.Unlock()
					s.Give(l)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s.taken != 0 || s.lines.Len() != 0 {
		t.Errorf("%d turns are taken, and %d lines wait", s.taken, s.lines.Len())
	}
}
