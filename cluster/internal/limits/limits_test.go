package limits_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/internal/limits"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestInFlight(t *testing.T) {
	var l limits.Limits
	p := limits.Policy{InFlight: 2}
	if p.None() || !(limits.Policy{}).None() {
		t.Error("None is wrong")
	}
	for range 2 {
		if err := l.Enter(p, "A.M", 0); err != nil {
			t.Fatal(err)
		}
	}
	err := l.Enter(p, "A.M", 0)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.ResourceExhausted || e.Outcome != weft.NotSent || e.Reason != weft.ReasonClientLimit || e.Method != "A.M" {
		t.Errorf("the third call: %v", err)
	}
	l.Leave(p)
	if err := l.Enter(p, "A.M", 0); err != nil {
		t.Errorf("after one has left: %v", err)
	}
}

// A call that the rate refuses is not in flight, and another rate begins anew.
func TestRate(t *testing.T) {
	var l limits.Limits
	p := limits.Policy{InFlight: 1000, Rate: 100}
	in := 0
	for now := time.Duration(0); now < 10*time.Second; now += time.Millisecond {
		if l.Enter(p, "A.M", now) == nil {
			in++
			l.Leave(p)
		}
	}
	if in < 1000 || in > 1011 {
		t.Errorf("%d calls in ten seconds, want 1000 and a burst of 10", in)
	}
	if err := l.Enter(limits.Policy{Rate: 1e6}, "A.M", 10*time.Second); err != nil {
		t.Errorf("under another rate: %v", err)
	}
}
