// Package streams is the state of one end of a stream: what has come and was not received, what may be sent, and how each
// direction and the call end. It knows neither frames nor connections: its owner puts in what the peer has sent, and sends
// what the methods return.
package streams

import (
	"sync"

	"github.com/weftrpc/weft/internal/wire"
)

const (
	// Cost is what every message costs besides its bytes, so that empty ones cannot be sent without end either.
	Cost = wire.HeaderSize
	// MaxCredit is the most that a side may be allowed to send ahead, in bytes.
	MaxCredit = 1 << 30
)

// Owner is the stream that a State belongs to.
type Owner interface {
	// Count counts bytes more of messages that were not received, and the memory that these take, or fewer if they are below zero. It reports
	// whether the streams of the connection may hold as many bytes. It is called with the lock of the State held, which is an inner one.
	Count(bytes, memory int) (ok bool)
	// Lapsed is called when the call has ended while a message of the peer is unfinished. It must not wait.
	Lapsed()
}

// State is that of one end. One goroutine may send while another one receives; the methods of the peer's frames and of the end
// of the call may be called by any goroutine. Init makes it ready.
type State struct {
	owner Owner

	mu  sync.Mutex
	in  receiving
	out sending

	over   bool // the call has ended
	status *wire.Status
	meta   string // of the final frame
}

// Init makes the State ready. The peer may send window bytes ahead, and this side credit bytes.
func (s *State) Init(owner Owner, window, credit int) {
	s.owner = owner
	s.in.window, s.in.arrived = window, make(chan struct{}, 1)
	s.out.credit, s.out.allowed = credit, make(chan struct{}, 1)
}

// Outcome is how a wait has ended.
type Outcome uint8

// The outcomes.
const (
	Ready  Outcome = iota // there is credit, or a message
	Closed                // no more is sent in this direction
	Over                  // the call has ended
	Left                  // the context has ended, and the call has not
)

// End notes the end of the call; the first one counts. Messages that have come can still be received.
func (s *State) End(status *wire.Status, meta string) {
	s.mu.Lock()
	if !s.over {
		s.over, s.status, s.meta = true, status, meta
	}
	s.mu.Unlock()
	s.lapse()
	wake(s.in.arrived)
	wake(s.out.allowed)
}

// Ended reports whether the call has ended, and with which status; nil: it ended well.
func (s *State) Ended() (over bool, status *wire.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over, s.status
}

// Over reports whether the call has ended.
func (s *State) Over() bool {
	over, _ := s.Ended()
	return over
}

// Meta is the metadata that End was given.
func (s *State) Meta() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta
}

// Bytes is how many bytes the messages have, on the wire, that were sent and that have come.
func (s *State) Bytes() (sent, came int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.bytes, s.in.bytes
}

// wake wakes the goroutine that waits at a channel of capacity 1, or will.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
