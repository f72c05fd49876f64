package yield

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// pipe is where one goroutine at a time pauses. The zero value is ready.
type pipe struct {
	mu     sync.Mutex
	r, w   *os.File // nil until they are needed
	poke   func()   // writes one byte
	closed bool     // or there is no pipe
}

// pause waits for a byte that another goroutine writes into a pipe: the processor runs the
// goroutines that are ready, and then those for which something has come from the network.
func (p *pipe) pause(start func(func())) {
	p.mu.Lock()
	if p.r == nil && !p.closed {
		p.openLocked()
	}
	r, poke := p.r, p.poke
	p.mu.Unlock()
	if r == nil {
		runtime.Gosched()
		return
	}
	start(poke)
	var b [1]byte
	_, _ = r.Read(b[:]) // fails after close
}

func (p *pipe) openLocked() {
	r, w, err := os.Pipe()
	if err == nil && !pollable(r) {
		_ = r.Close()
		_ = w.Close()
		err = os.ErrNoDeadline
	}
	if err != nil {
		p.closed = true
		return
	}
	p.r, p.w = r, w
	p.poke = func() { _, _ = w.Write([]byte{0}) }
}

// pollable reports whether reading waits in the network poller and not in a thread.
func pollable(r *os.File) bool { return r.SetReadDeadline(time.Time{}) == nil }

// close ends the pause. Later ones are short.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.r != nil {
		_ = p.r.Close()
		_ = p.w.Close()
		p.r = nil
	}
}
