package codectest

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
)

const (
	// growth is how many times longer the second body is that Growth decodes, and
	// growthTime how many times longer that may take: in proportion to the length
	// it takes eight times as long, to its square sixty-four.
	growth     = 8
	growthTime = 24
	// growthFree is a time that is always allowed.
	growthFree = 100 * time.Millisecond
	// growthTries is how often the two are compared before t fails.
	growthTries = 4
)

// Growth fails t when the time that c takes to decode a body grows much faster
// than the length of the body: then a peer can keep a server busy with little.
// body returns a body of about n bytes, sound or not, which is decoded into each
// of targets. The bound is generous, and one good result of several is enough.
// On Linux the time is the processor time of the decoding thread: by the clock a
// busy machine stretches the long body, which loses the processor meanwhile,
// and not the short one, which does not.
func Growth(t *testing.T, c codec.Codec, n int, body func(n int) []byte, targets ...any) {
	t.Helper()
	short, long := body(n), body(growth*n)
	for _, target := range targets {
		var before, after time.Duration
		for try := 0; ; try++ {
			if after = decoding(c, long, target); after <= growthFree {
				break
			}
			// The shortest of three is what it takes; a pause makes any longer.
			before = min(decoding(c, short, target), decoding(c, short, target), decoding(c, short, target))
			if after <= growthTime*before {
				break
			}
			if try == growthTries {
				t.Errorf("Decode into a %T takes %v for %d bytes and %v for %d, which begin with %.32x",
					target, before, len(short), after, len(long), long)
				break
			}
		}
	}
}

// decoding returns how long Decode of body takes.
func decoding(c codec.Codec, body []byte, target any) time.Duration {
	v := newLike(target)
	return timed(func() { _ = c.Decode(body, v) }) // what it says does not matter
}
