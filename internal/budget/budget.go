// Package budget bounds the frames that a peer can send without paying for them by calls.
package budget

import (
	"time"

	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// Budget bounds the frames of a peer that cost it nothing: pings, frames of unknown types, those that are skipped because their call is not
// open, and bindings that replace others. So many are free in a second; a call pays for those that may follow it. The zero Budget is ready for
// use, by one goroutine at a time.
type Budget struct {
	from   int64 // when the second began
	spent  int   // in it
	earned int   // by calls, and not spent
}

const (
	// ControlPerSecond is how many such frames are taken in a second.
	ControlPerSecond = 1000
	// mostEarned is how many more, at most, are taken after calls.
	mostEarned = 4 << 20
)

// Earn accounts for a request: its binding may be new, it may be canceled, and what follows it may be on its way when its answer is. message is
// how long one may be, window how much may be sent ahead on a stream.
func (b *Budget) Earn(h *wire.Header, message, window int) {
	n := 4 + message/wire.MaxPayload
	if h.Flags&wire.FlagStream != 0 {
		n += 2 * window / streams.Cost
	}
	b.earned = min(b.earned+n, mostEarned)
}

// Spend accounts for a frame that costs the peer nothing, read at a time in nanoseconds, and that no call pays for. It returns false when there
// were too many.
func (b *Budget) Spend(at int64) bool {
	if since := at - b.from; since < 0 || since > int64(time.Second) {
		b.from, b.spent = at, 0
	}
	b.spent++
	return b.spent <= ControlPerSecond
}

// Skip accounts for a frame of a call that is not open, or one that replaces a binding, as Spend does.
func (b *Budget) Skip(at int64) bool {
	if b.earned > 0 {
		b.earned--
		return true
	}
	return b.Spend(at)
}
