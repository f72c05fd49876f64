package backlog

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/held"
)

// call is a call that ends when its channel is closed, and whose reply has about usual bytes.
type call struct {
	done    chan struct{}
	usual   *atomic.Int64
	counted int64
}

func (c call) Done() <-chan struct{} { return c.done }

func (c call) UsualReply() int64 { return c.usual.Load() }

func (c call) Counted() int64 { return c.counted }

var forever call

// takeAll takes all turns.
func takeAll(t *testing.T, b *Backlog) {
	t.Helper()
	for range Turns {
		if v := b.Take(1, forever); v != Turn {
			t.Fatalf("a free turn was answered with %v", v)
		}
	}
}

// queue has n replies of a size wait, and counts their verdicts.
func queue(b *Backlog, n int, size int64) (verdicts []atomic.Int32, done *sync.WaitGroup) {
	verdicts, done = make([]atomic.Int32, 3), new(sync.WaitGroup)
	for range n {
		done.Go(func() { verdicts[b.Take(size, forever)].Add(1) })
	}
	return verdicts, done
}

// No more replies than allowed have a turn, and all get one.
func TestTurns(t *testing.T) {
	var b Backlog
	var now, peak atomic.Int32
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			for range 50 {
				if v := b.Take(10, forever); v != Turn {
					t.Errorf("the verdict is %v", v)
					return
				}
				n := now.Add(1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				now.Add(-1)
				b.Give()
			}
		})
	}
	wg.Wait()
	if peak.Load() > Turns || b.turns.Load() != 0 || b.waiting.Load() != 0 || b.held != 0 {
		t.Errorf("%d had a turn at once; %d turns, %d replies with %d bytes are left", peak.Load(), b.turns.Load(), b.waiting.Load(), b.held)
	}
}

// The next reply to be written goes on while the replies behind it have all turns.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := held.New(1 << 30)
		b := Backlog{Account: m.Open(func() {})}
		takeAll(t, &b)
		next, verdict := make(chan struct{}), make(chan Verdict, 1)
		go func() { verdict <- b.TakeOrNext(1<<20, forever, next) }() // it ends with the verdict
		synctest.Wait()
		if len(verdict) != 0 || b.Waiting() != 1<<20 {
			t.Fatalf("%d bytes wait, want 1 MiB", b.Waiting())
		}
		close(next)
		if v := <-verdict; v != Next || b.Waiting() != 0 || m.Held() != 0 || b.turns.Load() != Turns {
			t.Errorf("the verdict is %v; %d bytes wait, %d are counted, %d turns are taken", v, b.Waiting(), m.Held(), b.turns.Load())
		}
		b.Give()
		if v := b.TakeOrNext(1, forever, next); v != Turn {
			t.Errorf("a free turn was answered with %v", v)
		}
		b.Close()
	})
}

// What waits for a peer that does not read is bounded, and counted for the process.
func TestPeerReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := held.New(1 << 30)
		b := Backlog{Account: m.Open(func() {})}
		takeAll(t, &b)
		b.Crowd()
		verdicts, done := queue(&b, 100, 1<<20)
		synctest.Wait()
		if n := b.Waiting(); n != 100<<20 || m.Held() < 99<<20 {
			t.Errorf("%d bytes wait and %d are counted before the peer is known not to read, want 100 MiB", n, m.Held())
		}
		time.Sleep(2 * Patience)
		if n := b.Waiting(); n != MaxWaiting || verdicts[Dropped].Load() != 36 {
			t.Errorf("%d bytes wait, %d replies were dropped; want %d and 36", n, verdicts[Dropped].Load(), MaxWaiting)
		}
		if v := b.Take(1<<20, forever); v != Dropped {
			t.Errorf("one more reply was answered with %v", v)
		}
		for range Turns {
			b.Give()
		}
		for range 64 - Turns {
			synctest.Wait()
			b.Give()
		}
		done.Wait()
		if verdicts[Turn].Load() != 64 || m.Held() != 0 {
			t.Errorf("%d replies got a turn, %d bytes are counted; want 64 and none", verdicts[Turn].Load(), m.Held())
		}
		b.Close()
	})
}

// What the account counts already of a reply is not counted again.
func TestCountedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := held.New(1 << 30)
		b := Backlog{Account: m.Open(func() {})}
		b.Account.Add(1 << 20)
		takeAll(t, &b)
		var done sync.WaitGroup
		done.Go(func() { b.Take(1<<20, call{counted: 768 << 10}) })
		synctest.Wait()
		if n := m.Held(); n != 1<<20+256<<10-64<<10 || b.Waiting() != 1<<20 {
			t.Errorf("%d bytes wait, %d are counted", b.Waiting(), n)
		}
		b.Give()
		done.Wait()
		if n := m.Held(); n != 1<<20-64<<10 {
			t.Errorf("%d bytes are counted after the wait", n)
		}
		b.Close()
	})
}

// More waits for a peer that reads, up to a bound and to what the process may hold.
func TestPeerReads(t *testing.T) {
	for _, c := range []struct {
		memory       int64
		waits, drops int32
	}{{1 << 30, 256, 44}, {100 << 20, 100, 200}} {
		synctest.Test(t, func(t *testing.T) {
			b := Backlog{Account: held.New(c.memory).Open(func() {})}
			takeAll(t, &b)
			b.Crowd()
			verdicts, done := queue(&b, 300, 1<<20)
			for range 100 {
				time.Sleep(Patience / 2)
				b.Took()
			}
			if n := b.Waiting() >> 20; n != int64(c.waits) || verdicts[Dropped].Load() != c.drops {
				t.Errorf("%d MiB wait, %d replies were dropped; want %d and %d", n, verdicts[Dropped].Load(), c.waits, c.drops)
			}
			b.Close()
			done.Wait()
		})
	}
}

// Replies whose sizes are not known yet are counted when they are.
func TestUnknownSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := held.New(1 << 30)
		b := Backlog{Account: m.Open(func() {})}
		takeAll(t, &b)
		b.Crowd()
		var usual atomic.Int64
		usual.Store(1 << 10)
		verdicts := make([]atomic.Int32, 3)
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() { verdicts[b.Take(0, call{usual: &usual})].Add(1) })
		}
		time.Sleep(3 * Patience)
		if n := b.Waiting(); n != 100<<10 {
			t.Errorf("%d bytes wait, want 100 KiB", n)
		}
		usual.Store(1 << 20)
		time.Sleep(3 * Patience)
		if n := b.Waiting(); n != MaxWaiting || verdicts[Dropped].Load() != 36 {
			t.Errorf("%d bytes wait, %d replies were dropped; want %d and 36", n, verdicts[Dropped].Load(), MaxWaiting)
		}
		b.Close()
		done.Wait()
		if m.Held() != 0 {
			t.Errorf("%d bytes are counted after the end", m.Held())
		}
	})
}

// A reply that waits until its call has ended is given up, and a busy processor is no reason to
// drop one.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog
		takeAll(t, &b)
		verdicts, done := queue(&b, 100, 1<<20)
		gone := call{done: make(chan struct{})}
		time.AfterFunc(time.Hour, func() { close(gone.done) })
		if v := b.Take(1<<20, gone); v != Gone {
			t.Errorf("the verdict is %v", v)
		}
		if verdicts[Dropped].Load() != 0 {
			t.Errorf("%d replies were dropped though the connection is not crowded", verdicts[Dropped].Load())
		}
		b.Close()
		done.Wait()
	})
}

// While a connection is crowded few handlers begin, none while replies wait; all do when it is
// not any more.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog
		if b.Begin() {
			t.Error("a handler was counted though the connection is not crowded")
		}
		takeAll(t, &b)
		b.Crowd()
		_, replies := queue(&b, 1, 1)
		synctest.Wait()
		var begun, counted atomic.Int32
		var handlers sync.WaitGroup
		for range 3 * MaxBegun {
			handlers.Go(func() {
				if b.Begin() {
					counted.Add(1)
				}
				begun.Add(1)
			})
		}
		want := func(n int32) {
			t.Helper()
			if synctest.Wait(); begun.Load() != n {
				t.Fatalf("%d handlers have begun, want %d", begun.Load(), n)
			}
		}
		want(0)
		b.Give()
		replies.Wait()
		want(MaxBegun)
		b.End()
		want(MaxBegun + 1)
		b.Clear()
		want(3 * MaxBegun)
		handlers.Wait()
		if counted.Load() != MaxBegun+1 {
			t.Errorf("%d handlers were counted, want %d", counted.Load(), MaxBegun+1)
		}
	})
}

// After the end no handler waits, and no reply is encoded: none gets a turn, neither one that waits nor one that comes.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backlog
		takeAll(t, &b)
		b.Crowd()
		verdicts, done := queue(&b, 100, 1<<20)
		synctest.Wait()
		done.Go(func() { b.Begin() })
		synctest.Wait()
		b.Close()
		done.Wait()
		b.Close()
		if verdicts[Gone].Load() != 100 || b.Take(1, forever) != Gone || b.Begin() {
			t.Error("a handler waits after the end, or its reply got a turn")
		}
		for range Turns {
			b.Give()
		}
		if b.Take(1, forever) != Gone {
			t.Error("a reply got a turn after the end, when all turns were given back")
		}
	})
}
