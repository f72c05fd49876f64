package http2

import (
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// calm bounds what costs the peer little and brings no request further: PING, SETTINGS, empty DATA, frames of streams that have ended.
// Every frame of a request pays for some of these, and DATA that was sent for a PING: grpc-go and others send one for about every round
// trip, thousands in a second, to measure the bandwidth.
type calm struct {
	from  int64
	spent int
}

const (
	// controlBurst is how many such frames may come in a second.
	controlBurst = 1000
	// earned is how many a frame of a request pays for.
	earned = 2
)

func (k *calm) spend() error {
	if k.spent > controlBurst/2 {
		if now := session.Nanos(); now-k.from > int64(time.Second) {
			k.from, k.spent = now, 0
		}
	}
	if k.spent++; k.spent > controlBurst {
		return breach(EnhanceYourCalm, "more than %d frames in a second that belong to no request", controlBurst)
	}
	return nil
}

func (k *calm) earn() { k.spent = max(0, k.spent-earned) }
