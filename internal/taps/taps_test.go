package taps_test

import (
	"sync"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/taps"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestList(t *testing.T) {
	var l taps.List[func(int)]
	if !l.Empty() || l.All() != nil {
		t.Error("a new list is not empty")
	}
	var a, b int
	stopA := l.Add(func(n int) { a += n })
	stopB := l.Add(func(n int) { b += n })
	tell := func(n int) {
		for _, f := range l.All() {
			(*f)(n)
		}
	}
	tell(1)
	stopA()
	stopA()
	tell(2)
	stopB()
	tell(4)
	if a != 1 || b != 3 || !l.Empty() {
		t.Errorf("the functions were told %d and %d, want 1 and 3", a, b)
	}
}

func TestConcurrently(t *testing.T) {
	var l taps.List[func()]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				stop := l.Add(func() {})
				for _, f := range l.All() {
					(*f)()
				}
				stop()
			}
		})
	}
	wg.Wait()
	if !l.Empty() {
		t.Error("functions are left in the list")
	}
}
