package yield

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/cputime"
)

var epoch = time.Now()

func clock() time.Duration { return time.Since(epoch) }

func start(f func()) { go f() } // the goroutine ends with the write

// A share is due after its slice of work, and what it has waited counts for it.
func TestDue(t *testing.T) {
	var s Share
	var p Pauses
	s.Begin(0)
	if s.Due(leastSlice - 1) {
		t.Error("a pause is due before the slice is over")
	}
	s.Waited(&p, 2*leastSlice, 0)
	if s.worked != 0 {
		t.Errorf("after a wait as long as the work %v are counted", s.worked)
	}
	s.Begin(0)
	s.Waited(&p, leastSlice, leastSlice)
	if s.worked != leastSlice {
		t.Errorf("%v of work in a read are counted as %v", leastSlice, s.worked)
	}
	if !s.Due(leastSlice) {
		t.Error("no pause is due after the slice")
	}
}

// A pause ends, also when several goroutines pause at once, and after Close.
func TestPauseEnds(t *testing.T) {
	var p Pauses
	var left atomic.Int32
	done := make(chan struct{})
	left.Store(4)
	for range 4 {
		go func() { // it ends with the last pause
			var s Share
			for range 200 {
				s.Begin(clock())
				s.worked = leastSlice
				s.Pause(&p, clock, start)
			}
			s.End(&p)
			if left.Add(-1) == 0 {
				close(done)
			}
		}()
	}
	<-done
	if n := p.busy.Load(); n != 0 {
		t.Errorf("%d are busy after the end", n)
	}
	p.Close()
	var s Share
	s.worked = leastSlice
	s.Begin(clock())
	s.Pause(&p, clock, start)
}

// Without others the slices grow.
func TestSlicesGrow(t *testing.T) {
	var p Pauses
	defer p.Close()
	var s Share
	for range 1000 {
		s.Begin(clock())
		s.worked = leastSlice
		if s.Pause(&p, clock, start); s.slice == mostSlice {
			return
		}
	}
	t.Errorf("after a thousand pauses a slice has %v", s.slice)
}

// A pause in which others have run for long is made up: the next slice is longer, but not without bounds, nor for the slices of other shares.
func TestLongPauseIsMadeUp(t *testing.T) {
	const slice = 2 * leastSlice // the second one
	for _, tt := range []struct{ took, ran, shares, want time.Duration }{
		{0, 0, 0, 0},
		{2 * leastSlice, 2 * leastSlice, 0, 0},
		{2*leastSlice + 500*time.Microsecond, time.Second, 0, 250 * time.Microsecond}, // on several processors
		{2*leastSlice + 500*time.Microsecond, 2*leastSlice + 500*time.Microsecond, 300 * time.Microsecond, 100 * time.Microsecond},
		{10 * time.Millisecond, 2*leastSlice + 500*time.Microsecond, 0, 250 * time.Microsecond}, // beside other processes
		{10 * time.Millisecond, 10 * time.Millisecond, 0, mostSlice},
		{10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond, 0},
	} {
		var p Pauses
		var s Share
		at, took, used := time.Duration(0), tt.took, time.Duration(0)
		p.Used = func() time.Duration { return used }
		s.Begin(at)
		at += leastSlice
		if !s.Due(at) {
			t.Fatal("no pause is due after the first slice")
		}
		s.Pause(&p, func() time.Duration { return at }, func(poke func()) {
			at += took
			used += tt.ran
			p.work.Add(int64(tt.shares))
			took, tt.ran, tt.shares = 0, 0, 0
			go poke() // it ends with the write
		})
		if s.worked != -tt.want {
			t.Errorf("after a pause of %v, %v are counted as worked, want -%v", tt.took, s.worked, tt.want)
		}
		// Reading without waiting leaves it as it is.
		s.Waited(&p, at, 0)
		if at += tt.want + slice - 1; s.Due(at) {
			t.Errorf("after a pause of %v the next one is due before %v", tt.took, tt.want+slice)
		}
		if at++; !s.Due(at) {
			t.Errorf("after a pause of %v none is due after %v", tt.took, tt.want+slice)
		}
		s.worked = -tt.want
		if at += 2 * mostSlice; tt.want > 0 {
			if s.Waited(&p, at, 0); s.worked != 0 || s.busy {
				t.Errorf("after a wait %v are counted as worked, busy %v", s.worked, s.busy)
			}
		}
		s.End(&p)
		p.Close()
	}
}

// For each two processors one goroutine pauses at a time.
func TestPausesAtATime(t *testing.T) {
	for procs, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 8: 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var p Pauses
			var pausing sync.WaitGroup
			began := make(chan func(), 2*want)
			for range 2 * want {
				pausing.Go(func() {
					s := Share{worked: leastSlice}
					s.Pause(&p, clock, func(poke func()) { began <- poke })
					s.End(&p)
				})
			}
			pokes := make([]func(), want)
			for i := range pokes {
				select {
				case pokes[i] = <-began:
				case <-time.After(10 * time.Second):
					t.Fatalf("with %d processors only %d pause at the same time, want %d", procs, i, want)
				}
			}
			select {
			case <-began:
				t.Errorf("with %d processors more than %d pause at the same time", procs, want)
			case <-time.After(10 * time.Millisecond):
			}
			p.Close() // ends the pauses, those to come too
			pausing.Wait()
		}()
	}
}

// A goroutine that pauses alone uses one pipe, however many processors there are.
func TestLonePausesUseOnePipe(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	var p Pauses
	defer p.Close()
	var s Share
	for range 100 {
		s.Begin(clock())
		s.worked = leastSlice
		s.Pause(&p, clock, start)
	}
	s.End(&p)
	open := 0
	for i := range p.pipes {
		if p.pipes[i].r != nil {
			open++
		}
	}
	if open != 1 {
		t.Errorf("%d pipes are open, want one", open)
	}
}

// Goroutines that pause together leave the others their share as one alone does: each slice is followed by a pause.
func TestManyLeaveOthersTheirShare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const least = 0.7 // of that beside one: it has a third of it beside two that pause at the same time, and nothing beside twenty
	part := func(pausing int) float64 {
		p := Pauses{Used: cputime.Used}
		defer p.Close()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var over atomic.Bool
		var all sync.WaitGroup
		var own, others atomic.Int64 // rounds of work
		work := func(n *atomic.Int64) {
			for from := clock(); clock()-from < 10*time.Microsecond; {
			}
			n.Add(1)
		}
		for range pausing {
			all.Go(func() {
				var s Share
				defer s.End(&p)
				for s.Begin(clock()); !over.Load(); {
					if work(&own); s.Due(clock()) {
						s.Pause(&p, clock, start)
					}
				}
			})
		}
		all.Go(func() { // the reader of another connection, whose peer writes again when it was answered
			var b [1]byte
			for !over.Load() {
				if _, err := r.Read(b[:]); err != nil {
					break
				}
				p.Ran()
				work(&others)
				start(func() { _, _ = w.Write([]byte{0}) })
			}
		})
		_, _ = w.Write([]byte{0})
		time.Sleep(50 * time.Millisecond)
		over.Store(true)
		all.Wait()
		_ = r.Close()
		_ = w.Close()
		return float64(others.Load()) / float64(own.Load()+others.Load())
	}
	var one []float64
	for range 5 {
		one = append(one, part(1))
	}
	slices.Sort(one)
	alone := one[len(one)/2]
	for _, pausing := range []int{2, 20} {
		// Other programs take from its share in some rounds: the greatest counts.
		most := 0.0
		for i := 0; i < 20 && most < least*alone; i++ {
			most = max(most, part(pausing))
		}
		if most < least*alone {
			t.Errorf("beside %d that pause another goroutine does %.2f of the work at most, beside one %.2f", pausing, most, alone)
		}
	}
}
