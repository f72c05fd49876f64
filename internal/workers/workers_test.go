package workers

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// own is what a worker of these tests has of its own.
type own struct{ number int }

// newPool returns a pool for functions of what a worker has of its own.
func newPool() *Pool[func(*own), own] {
	p := new(Pool[func(*own), own])
	p.Init(func(f func(*own), w *own) { f(w) })
	return p
}

// idle is how many workers wait for work.
func idle(p *Pool[func(*own), own]) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// All work is done, at the same time where it must, and each worker has its own to itself.
func TestAllWorkIsDone(t *testing.T) {
	p := newPool()
	defer p.Close()
	const together, rounds = 50, 20
	var number atomic.Int32
	for range rounds {
		var begun, over sync.WaitGroup
		begun.Add(together)
		over.Add(together)
		for range together {
			p.Run(func(w *own) {
				defer over.Done()
				n := int(number.Add(1))
				w.number = n
				begun.Done()
				begun.Wait() // the others run as well
				if w.number != n {
					t.Errorf("work %d has what belongs to work %d", n, w.number)
				}
			})
		}
		over.Wait()
	}
	if n := number.Load(); n != together*rounds {
		t.Errorf("%d pieces of work were done, want %d", n, together*rounds)
	}
}

// The worker that went idle last gets the next work.
func TestLastIdleWorkerIsUsedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		defer p.Close()
		first, second := make(chan struct{}), make(chan struct{})
		p.Run(func(w *own) { w.number = 1; <-first })
		p.Run(func(w *own) { w.number = 2; <-second })
		for _, last := range []chan struct{}{first, second} {
			synctest.Wait()
			close(last)
		}
		synctest.Wait()
		for range 3 {
			got := make(chan int, 1)
			p.Run(func(w *own) { got <- w.number })
			if n := <-got; n != 2 {
				t.Errorf("worker %d was used, want the one that went idle last, 2", n)
			}
			synctest.Wait()
		}
	})
}

// Workers that are not needed end, and those that are needed stay.
func TestIdleWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		defer p.Close()
		var begun sync.WaitGroup
		begun.Add(10)
		for range 10 {
			p.Run(func(*own) { begun.Done(); begun.Wait() })
		}
		synctest.Wait()
		if n := idle(p); n != 10 {
			t.Fatalf("%d workers wait, want 10", n)
		}
		for range 30 { // one is needed all the time
			time.Sleep(idleTime / 10)
			p.Run(func(*own) {})
			synctest.Wait()
		}
		if n := idle(p); n != 1 {
			t.Errorf("%d workers wait, want the one that is needed", n)
		}
		time.Sleep(3 * idleTime)
		synctest.Wait()
		if n := idle(p); n != 0 {
			t.Errorf("%d workers wait, want none", n)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.janitor != nil {
			t.Error("the timer of a pool without workers is set")
		}
	})
}

// Work that ends its goroutine ends that worker alone, and a closed pool still does its work.
func TestWorkEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool()
		p.Run(func(*own) { runtime.Goexit() })
		synctest.Wait()
		if n := idle(p); n != 0 {
			t.Errorf("%d workers wait, of which the only one has ended", n)
		}
		hold, done := make(chan struct{}), make(chan struct{}, 2)
		p.Run(func(*own) { <-hold; done <- struct{}{} })
		p.Run(func(*own) {})
		synctest.Wait()
		p.Close()
		p.Run(func(*own) { done <- struct{}{} })
		<-done
		close(hold)
		<-done
		synctest.Wait()
		if n := idle(p); n != 0 {
			t.Errorf("%d workers of a closed pool wait", n)
		}
	})
}
