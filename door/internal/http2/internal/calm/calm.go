// Package calm bounds how many frames that cost a peer of HTTP/2 little, and bring no request further, it may send.
package calm

import (
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// Calm counts PING, SETTINGS, empty DATA and frames of streams that have ended. Every frame of a request pays for some of these, and DATA that
// was sent for a PING: grpc-go and others send one for about every round trip, thousands in a second, to measure the bandwidth. The zero
// value is ready.
type Calm struct {
	from  int64
	spent int
}

const (
	// Burst is how many such frames may come in a second.
	Burst = 1000
	// earned is how many a frame of a request pays for.
	earned = 2
)

// Spend counts a frame, and reports whether it may come.
func (k *Calm) Spend() bool {
	if k.spent > Burst/2 {
		if now := session.Nanos(); now-k.from > int64(time.Second) {
			k.from, k.spent = now, 0
		}
	}
	k.spent++
	return k.spent <= Burst
}

// Earn counts a frame of a request.
func (k *Calm) Earn() { k.spent = max(0, k.spent-earned) }
