package session

import (
	"sync"
	"sync/atomic"
)

// turns bound the replies of a connection that are encoded and wait for room in the
// writer's buffer, besides what is in it. Workers that have more to say encode it later:
// a peer that does not read has a server hold little, whatever its methods return.
type turns struct {
	taken   atomic.Int32
	waiting atomic.Int32
	mu      sync.Mutex
	free    sync.Cond
	over    bool // the session has ended
}

// maxEncoded is how many such replies there may be.
const maxEncoded = 8

// takeTurn waits until one more reply may be encoded. The reader does not wait.
func (m *message) takeTurn(s *Session) {
	if m.reply && m.turn == nil {
		m.turn = &s.in.turns
		m.turn.take()
	}
}

func (t *turns) take() {
	if t.try() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free.L = &t.mu
	t.waiting.Add(1)
	for !t.try() {
		if t.over {
			t.taken.Add(1)
			break
		}
		t.free.Wait()
	}
	t.waiting.Add(-1)
}

func (t *turns) try() bool {
	for {
		n := t.taken.Load()
		if n >= maxEncoded {
			return false
		}
		if t.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (t *turns) give() {
	t.taken.Add(-1)
	// A goroutine that waits has said so before it looked at taken for the last time.
	if t.waiting.Load() > 0 {
		t.mu.Lock()
		t.free.Signal()
		t.mu.Unlock()
	}
}

// end lets all go on: the session has ended.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.free.Broadcast()
}
