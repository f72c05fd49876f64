package session

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// budget bounds the frames of a peer that cost it nothing: pings, frames of unknown types, those that are skipped because their call is not
// open, and bindings that replace others. So many are free in a second; a call pays for those that may follow it.
type budget struct {
	from   int64 // when the second began
	spent  int   // in it
	earned int   // by calls, and not spent
}

const (
	// controlPerSecond is how many such frames are taken in a second.
	controlPerSecond = 1000
	// mostEarned is how many more, at most, are taken after calls.
	mostEarned = 4 << 20
)

// earn accounts for a request: its binding may be new, it may be canceled, and what follows it may be on its way when its answer is.
func (b *budget) earn(h *wire.Header, l *Limits) {
	n := 4 + l.MaxMessage/wire.MaxPayload
	if h.Flags&wire.FlagStream != 0 {
		n += 2 * l.StreamWindow / streams.Cost
	}
	b.earned = min(b.earned+n, mostEarned)
}

// spend accounts for a frame that costs the peer nothing, read at a time, and that no call pays for.
func (b *budget) spend(at int64) error {
	if since := at - b.from; since < 0 || since > int64(time.Second) {
		b.from, b.spent = at, 0
	}
	if b.spent++; b.spent > controlPerSecond {
		return &breach{wire.ResourceExhausted, fmt.Sprintf("more than %d control frames in a second", controlPerSecond)}
	}
	return nil
}

// skip accounts for a frame of a call that is not open, or one that replaces a binding.
func (b *budget) skip(at int64) error {
	if b.earned > 0 {
		b.earned--
		return nil
	}
	return b.spend(at)
}
