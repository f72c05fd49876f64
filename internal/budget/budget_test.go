package budget

import (
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// taken is how many frames are taken of those that take accounts for.
func taken(take func(at int64) bool, at int64) (n int) {
	for n < 2*mostEarned && take(at) {
		n++
	}
	return n
}

func TestBudget(t *testing.T) {
	const at = int64(5 * time.Second)
	var b Budget
	if n := taken(b.Spend, at); n != ControlPerSecond {
		t.Errorf("%d frames are taken in a second", n)
	}
	if b.Spend(at+int64(time.Second)) || b.Skip(at) {
		t.Error("one more is taken")
	}
	if n := taken(b.Spend, at+int64(time.Second)+1); n != ControlPerSecond {
		t.Errorf("%d frames are taken in the next second", n)
	}
	b.Earn(&wire.Header{Flags: wire.FlagStream}, 3*wire.MaxPayload, 5*streams.Cost)
	if b.Spend(at + int64(time.Second) + 1) {
		t.Error("a call pays for a frame that cannot follow it")
	}
	if n := taken(b.Skip, at+int64(time.Second)+1); n != 4+3+2*5 {
		t.Errorf("a call pays for %d frames", n)
	}
	for range 2 + mostEarned/(math.MaxInt32/wire.MaxPayload) {
		b.Earn(&wire.Header{}, math.MaxInt32, 0)
	}
	if n := taken(b.Skip, at); n != mostEarned+ControlPerSecond { // also when the clock goes back
		t.Errorf("calls pay for %d frames", n-ControlPerSecond)
	}
}
