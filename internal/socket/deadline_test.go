package socket

import (
	"math"
	"net"
	"testing"
	"time"
)

// TestDeadline: the deadline is that far away, or a quarter more, and as far as can be where a write may take any time.
func TestDeadline(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	for _, limit := range []time.Duration{time.Minute, math.MaxInt64/2 - 1, math.MaxInt64} {
		d := NewDeadline(one, limit)
		now := time.Now()
		until := d.Renew()
		if left := until.Sub(now); left < min(limit, math.MaxInt64/2) {
			t.Errorf("a write that may take %v has %v", limit, left)
		}
		if d.Renew() != until && time.Since(now) < limit/8 {
			t.Errorf("the deadline of a write of %v is set for each", limit)
		}
	}
}
