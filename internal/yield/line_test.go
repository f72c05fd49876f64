package yield

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// All work is started, each piece once and in order, also when it is put into the line by many goroutines, and after Close.
func TestLineStartsAll(t *testing.T) {
	var l Line[int]
	var mu sync.Mutex
	var got []int
	all := make(chan struct{})
	const putters, each = 8, 500
	l.Init(func(i int) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, i); len(got) == putters*each {
			close(all)
		}
	})
	for p := range putters {
		go func() { // ends with its last piece
			for i := range each {
				l.Put(p*each + i)
				if p == 0 && i == each/2 {
					l.Close()
				}
			}
		}()
	}
	<-all
	last := make(map[int]int)
	for _, i := range got {
		if p := i / each; i%each+1 != last[p]+1 {
			t.Fatalf("piece %d of putter %d came after piece %d", i%each, p, last[p]-1)
		}
		last[i/each]++
	}
}

// What comes over the network while a piece computes is read before the next piece begins. Without the line it is read behind all of them.
func TestLineLetsReadersGo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const pieces, work = 12, 3 * time.Millisecond
	// behind returns behind how many pieces a reader ran for which something came before the pieces.
	behind := func(put func(func()), l *Line[func()]) int {
		var done atomic.Int32
		var all sync.WaitGroup
		all.Add(pieces + 1)
		var p pipe
		defer p.close()
		at := pieces
		p.mu.Lock()
		p.openLocked()
		p.mu.Unlock()
		go func() { // ends with the byte
			defer all.Done()
			var b [1]byte
			_, _ = p.r.Read(b[:])
			at = int(done.Load())
		}()
		time.Sleep(time.Millisecond) // it waits for the network
		for i := range pieces {
			put(func() {
				defer all.Done()
				if i == 0 {
					p.poke()
				}
				for from := time.Now(); time.Since(from) < work; {
				}
				done.Add(1)
			})
		}
		all.Wait()
		return at
	}
	const tries = 9
	var with, without []int
	for range tries {
		l := new(Line[func()])
		l.Init(func(f func()) { go f() })
		with = append(with, behind(l.Put, l))
		l.Close()
		without = append(without, behind(func(f func()) { go f() }, l))
	}
	slices.Sort(with)
	slices.Sort(without)
	t.Logf("read behind %v of %d pieces with the line, %v without", with, pieces, without)
	if with[tries/2] > 2 {
		t.Errorf("with the line a reader ran behind %v of %d pieces, want 2 at most", with, pieces)
	}
}

// Pieces that compute go one by one from the first on, however often the line was empty before.
func TestLineBeginsWithOne(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const work, tries = time.Millisecond, 40
	var started, done, together atomic.Int32
	var l Line[func()]
	defer l.Close()
	l.Init(func(f func()) {
		if started.Add(1)-done.Load() > 1 {
			together.Add(1)
		}
		go f()
	})
	for range tries {
		var all sync.WaitGroup
		for range 3 {
			all.Add(1)
			l.Put(func() {
				defer all.Done()
				for from := time.Now(); time.Since(from) < work; {
				}
				done.Add(1)
			})
		}
		all.Wait()
		time.Sleep(time.Millisecond) // the line is empty
	}
	t.Logf("%d of %d pieces began before those in front had ended", together.Load(), 3*tries)
	// Some do on a busy machine, after a piece that took long.
	if together.Load() > tries/2 {
		t.Errorf("%d of %d pieces began before those in front had ended", together.Load(), 3*tries)
	}
}

// Work is put into the line in place of the last piece that gives way, or behind all of them.
func TestLineReplaces(t *testing.T) {
	var l Line[int]
	l.Init(func(int) {})
	l.moving = true // none begins
	for i := range 4 {
		l.Put(i)
	}
	even := func(i int) bool { return i%2 == 0 }
	for _, c := range []struct {
		work, out int
		ok        bool
		left      []int
	}{
		{5, 2, true, []int{0, 1, 3, 5}},
		{7, 0, true, []int{1, 3, 5, 7}},
		{9, 0, false, []int{1, 3, 5, 7, 9}},
	} {
		if out, ok := l.Replace(c.work, even); out != c.out || ok != c.ok || !slices.Equal(l.waiting, c.left) {
			t.Errorf("%d took the place of %d (%v), and %v are left, want %d (%v) and %v", c.work, out, ok, l.waiting, c.out, c.ok, c.left)
		}
	}
}

// Pieces that wait do not hold up those behind them.
func TestLineOfSleepers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const pieces = 200
	var l Line[func()]
	defer l.Close()
	l.Init(func(f func()) { go f() })
	release := make(chan struct{})
	var begun, all sync.WaitGroup
	begun.Add(pieces)
	all.Add(pieces)
	for range pieces {
		l.Put(func() {
			defer all.Done()
			begun.Done()
			<-release
		})
	}
	begun.Wait() // for ever, if those in front had to end first
	close(release)
	all.Wait()
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		n    int
		took time.Duration
		want int
	}{
		{1, 10 * time.Microsecond, 2},
		{4, time.Millisecond, 4},
		{4, 3 * time.Millisecond, 2},
		{1, 3 * time.Millisecond, 1},
		{1, 5 * time.Millisecond, 2},
		{16, 17 * time.Millisecond, 8},
		{mostTogether, 0, mostTogether},
	} {
		if got := resize(c.n, c.took); got != c.want {
			t.Errorf("after %d pieces in %v %d go together, want %d", c.n, c.took, got, c.want)
		}
	}
}
