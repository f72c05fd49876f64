package streams

import (
	"sync"
	"sync/atomic"
)

// Lapsed are the calls of the streams of a connection that have ended while a message of theirs was unfinished. The zero value is ready.
type Lapsed struct {
	some atomic.Bool // ids has some
	mu   sync.Mutex
	ids  []lapse
}

type lapse struct {
	id     uint32
	answer bool
}

// Add notes the call of a stream that has ended. answer says that its peer answers. It is called on any goroutine.
func (l *Lapsed) Add(id uint32, answer bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, lapse{id, answer})
	l.some.Store(true)
}

// Take calls f with all that were added, and forgets them.
func (l *Lapsed) Take(f func(id uint32, answer bool)) {
	if !l.some.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.ids {
		f(e.id, e.answer)
	}
	l.ids = l.ids[:0]
	l.some.Store(false)
}
