package stackroom

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// waiting is a reader that tells when it waits, until it is closed.
type waiting struct {
	wait *sync.WaitGroup
	over chan struct{}
}

func (w waiting) Read([]byte) (int, error) {
	w.wait.Done()
	<-w.over
	return 0, nil
}

// deep uses n KiB of stack.
//
//go:noinline
func deep(n int) byte {
	var frame [1 << 10]byte
	if n > 0 {
		frame[n] = deep(n - 1)
	}
	return frame[n]
}

// stacks is how many bytes all stacks have.
func stacks() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// TestStackStays: stacks that a call has grown keep 8 KiB while their goroutines wait for the next one.
func TestStackStays(t *testing.T) {
	const goroutines = 500
	runtime.GC()
	before := stacks()
	var wait, all sync.WaitGroup
	w := waiting{&wait, make(chan struct{})}
	wait.Add(goroutines)
	for range goroutines {
		all.Go(func() {
			deep(5)
			_, _ = Read(w, nil)
		})
	}
	wait.Wait()
	for range 5 {
		runtime.GC()
	}
	kept := stacks() - before
	close(w.over)
	all.Wait()
	if kept < goroutines*7<<10 {
		t.Errorf("%d goroutines that wait keep %d bytes of their stacks each, want 8 KiB", goroutines, kept/goroutines)
	}
}
