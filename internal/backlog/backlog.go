// Package backlog bounds what the handlers of one connection hold for a peer that reads more
// slowly than they answer.
//
// A handler that has a reply takes one of few turns, encodes the reply, and waits for room in
// the write buffer. The other handlers keep their replies as they returned them; those are
// counted, and dropped when they are too many. While the connection is crowded few handlers
// begin.
package backlog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/held"
)

const (
	// Turns is how many replies of a connection may be encoded and wait for room in the write
	// buffer, besides what is in it.
	Turns = 8
	// MaxWaiting is how many bytes of replies may wait for a turn while the peer reads nothing,
	// MaxReading how many while it reads.
	MaxWaiting = 64 << 20
	MaxReading = 256 << 20
	// Patience is how long a peer may take nothing of a crowded connection before it is one that
	// does not read.
	Patience = 100 * time.Millisecond
	// MaxBegun is how many handlers run that have begun while the connection was crowded.
	MaxBegun = 64
	// none is how many turns are taken beside those in use when none is given any more.
	none = 1 << 30
)

// Backlog is that of one connection. The zero value is ready; Account may be set before it is
// used.
//
// Its invariants: held is the sum of the sizes of the replies in the queue, and Account counts as
// much, together with what it has counted of them before; a reply is in the queue only while all turns are taken; each reply in the queue is
// told its verdict exactly once, by the goroutine that takes it out.
type Backlog struct {
	Account *held.Account // counts what waits for the whole process; nil: nothing does

	crowded atomic.Bool  // the write buffer was full, and has not been drained since
	turns   atomic.Int32 // in use
	waiting atomic.Int32 // replies in the queue, or about to enter it

	mu          sync.Mutex
	first, last *reply
	held        int64
	taken       time.Time   // when the peer took bytes last, while the connection is crowded
	guesses     int         // replies in the queue whose sizes are not known
	timer       *time.Timer // of look; nil while held is small and known
	begun       int
	mayBegin    sync.Cond
	over        bool
}

// reply is a reply that waits for a turn.
type reply struct {
	size       int64
	counted    int64 // of size, by the account for another reason
	guess      Call  // asked for the size again, for it was not known; nil: it is
	prev, next *reply
	verdict    chan Verdict
}

// more is how many bytes the account counts for the wait.
func (r *reply) more() int64 { return max(r.size-r.counted, 0) }

// Verdict is how the wait for a turn has ended.
type Verdict uint8

const (
	Turn    Verdict = iota // there is a turn; Give gives it back
	Gone                   // the call or the connection has ended meanwhile
	Dropped                // too much waits: the reply must not be kept
	Next                   // the reply is the next to be written: it needs no turn
)

// Crowded reports whether the peer reads more slowly than replies are made.
func (b *Backlog) Crowded() bool { return b.crowded.Load() }

// Crowd says that the write buffer is full.
func (b *Backlog) Crowd() {
	if !b.crowded.Load() {
		b.Took()
		b.crowded.Store(true)
	}
}

// Clear says that the write buffer has been drained.
func (b *Backlog) Clear() {
	b.crowded.Store(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mayBegin.Broadcast()
}

// Took says that the peer has taken bytes of a crowded connection.
func (b *Backlog) Took() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = time.Now()
}

// Begin is called before a handler runs on a crowded connection, and waits until it may. If it
// returns true End must be called when the handler has returned.
func (b *Backlog) Begin() (counted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mayBegin.L = &b.mu
	for b.crowded.Load() && !b.over && (b.first != nil || b.begun >= MaxBegun) {
		b.mayBegin.Wait()
	}
	if !b.crowded.Load() || b.over {
		return false
	}
	b.begun++
	return true
}

// End says that a handler has returned for which Begin returned true.
func (b *Backlog) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun--
	b.mayBegin.Signal()
}

// Call is the call of a reply. It is asked only when the reply has to wait.
type Call interface {
	// Done is closed when the call has ended.
	Done() <-chan struct{}
	// UsualReply is how many bytes the reply is likely to have, as far as is known now.
	UsualReply() int64
	// Counted is how many bytes of the reply the account counts already.
	Counted() int64
}

// Take waits for a turn for a reply of size bytes, until its call has ended. A size of 0 is not known.
func (b *Backlog) Take(size int64, call Call) Verdict { return b.TakeOrNext(size, call, nil) }

// TakeOrNext is Take for a connection whose replies are written in the order of their calls: next is closed when the reply
// is the next one. It then has to go on although other replies, which wait for it, have all turns.
func (b *Backlog) TakeOrNext(size int64, call Call, next <-chan struct{}) Verdict {
	if b.waiting.Load() == 0 && b.try() {
		return Turn
	}
	return b.wait(size, call, next)
}

// try takes a turn if one is free.
func (b *Backlog) try() bool {
	for {
		n := b.turns.Load()
		if n >= Turns {
			return false
		}
		if b.turns.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (b *Backlog) wait(size int64, call Call, next <-chan struct{}) Verdict {
	b.waiting.Add(1) // before try: Give looks at waiting after it has given the turn back
	b.mu.Lock()
	if b.over || b.first == nil && b.try() {
		v := Turn
		if b.over {
			v = Gone
		}
		b.waiting.Add(-1)
		b.mu.Unlock()
		return v
	}
	r := &reply{size: size, counted: call.Counted(), verdict: make(chan Verdict, 1)}
	if size == 0 {
		r.guess, r.size = call, call.UsualReply()
	}
	if b.tooMuchLocked(r.size) {
		b.waiting.Add(-1)
		b.mu.Unlock()
		return Dropped
	}
	b.pushLocked(r)
	b.mu.Unlock()
	without := Gone
	select {
	case v := <-r.verdict:
		return v
	case <-call.Done():
	case <-next:
		without = Next
	}
	b.mu.Lock()
	if len(r.verdict) == 0 {
		b.removeLocked(r, without)
	}
	b.mu.Unlock()
	return <-r.verdict
}

// Give gives a turn back.
func (b *Backlog) Give() {
	b.turns.Add(-1)
	if b.waiting.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.first != nil && b.try() {
		b.removeLocked(b.first, Turn)
	}
}

// tooMuchLocked reports whether a reply of size bytes is too much besides those that wait.
func (b *Backlog) tooMuchLocked(size int64) bool {
	switch n := b.held + size; {
	case n <= MaxWaiting:
		return false
	case n > MaxReading:
		return true
	}
	return b.idleLocked() || !b.Account.Room(size)
}

// idleLocked reports whether the peer does not read.
func (b *Backlog) idleLocked() bool {
	return b.crowded.Load() && time.Since(b.taken) >= Patience
}

func (b *Backlog) pushLocked(r *reply) {
	if r.prev = b.last; r.prev != nil {
		r.prev.next = r
	} else {
		b.first = r
	}
	b.last = r
	b.held += r.size
	b.Account.Add(r.more())
	if r.guess != nil {
		b.guesses++
	}
	if b.timer == nil && (b.held > MaxWaiting || r.guess != nil) {
		b.timer = time.AfterFunc(Patience, b.look)
	}
}

// removeLocked takes a reply out of the queue, and tells it a verdict.
func (b *Backlog) removeLocked(r *reply, v Verdict) {
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		b.first = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	} else {
		b.last = r.prev
	}
	if r.guess != nil {
		b.guesses--
	}
	b.held -= r.size
	b.Account.Add(-r.more())
	b.waiting.Add(-1)
	r.verdict <- v
	if b.first == nil {
		b.mayBegin.Broadcast()
	}
}

// look drops the replies that came last while there are too many for a peer that does not read, or
// for any.
func (b *Backlog) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.guessLocked()
	for b.held > MaxReading || b.held > MaxWaiting && b.idleLocked() {
		b.removeLocked(b.last, Dropped)
	}
	if !b.over && (b.held > MaxWaiting || b.guesses > 0) {
		b.timer.Reset(Patience / 4)
	} else {
		b.timer = nil
	}
}

// guessLocked counts the replies whose sizes are not known by what is known now.
func (b *Backlog) guessLocked() {
	if b.guesses == 0 {
		return
	}
	change := int64(0)
	for r := b.first; r != nil; r = r.next {
		if r.guess != nil {
			n := r.guess.UsualReply()
			change -= r.more()
			b.held += n - r.size
			r.size = n
			change += r.more()
		}
	}
	b.Account.Add(change)
}

// Waiting is how many bytes of replies wait for a turn.
func (b *Backlog) Waiting() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Close says that the connection has ended. No handler waits any more, and no reply gets a turn, so that none is encoded in vain.
func (b *Backlog) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.turns.Add(none)
	}
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
	for b.first != nil {
		b.removeLocked(b.first, Gone)
	}
	b.mayBegin.Broadcast()
}
