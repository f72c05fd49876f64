package session

import (
	"testing"
	"time"
)

// A reader that is held up is replaced, once, and notices when it goes on; one that is not
// keeps its place.
func TestGuard(t *testing.T) {
	exec := NewExecutor()
	defer exec.Close()
	taken := make(chan struct{}, 8)
	g := exec.Guard(func() { taken <- struct{}{} })
	for range 1000 {
		if turn := g.Enter(); !g.Leave(turn) {
			<-taken // a busy machine held it up
		}
	}
	turn := g.Enter()
	select {
	case <-taken:
	case <-time.After(20 * time.Second):
		t.Fatal("a reader that is held up was not replaced")
	}
	next := g.Enter() // by the next reader
	if g.Leave(turn) {
		t.Error("the reader that was replaced still counts as the current one")
	}
	if !g.Leave(next) {
		<-taken
	}
}
