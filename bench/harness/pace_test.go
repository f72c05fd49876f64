package harness

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

func TestPaceSpreadsTheRate(t *testing.T) {
	const callers, rate = 4, 200 // a call each 5 ms, each caller one each 20 ms
	for caller := range callers {
		p := newPace(caller, callers, rate)
		for k := range int64(3) {
			want := time.Duration(caller)*5*time.Millisecond + time.Duration(k)*20*time.Millisecond
			if got := p.at(k); got != want {
				t.Errorf("call %d of caller %d begins at %v, want %v", k, caller, got, want)
			}
		}
	}
}

func TestOpenLoop(t *testing.T) {
	result, err := loadIn(t, newScript(), loadArgs(contract.Echo, 2, "-rate", "100")...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 100 || result.Late != 0 {
		t.Errorf("%d calls, %d late; a hundred a second were asked for", result.Calls, result.Late)
	}
	if p50, most := result.Main.Quantile(0.5), result.Main.Max; !near(p50, time.Millisecond) || !near(most, time.Millisecond) {
		t.Errorf("p50 %d, maximum %d: a system that keeps up answers in 1 ms", p50, most)
	}
}

// A closed loop would see the stall as a single slow call. The open one charges
// every call that should have begun meanwhile.
func TestOpenLoopCountsFromTheIntendedTime(t *testing.T) {
	peer := newScript()
	first := true
	var begin time.Time
	peer.fail = func(int64) error { // one caller only
		if first {
			first, begin = false, time.Now()
		}
		// In the measured second, which follows 400 ms of warm-up.
		if at := time.Since(begin); at > 600*time.Millisecond && at < 620*time.Millisecond {
			time.Sleep(500 * time.Millisecond)
		}
		return nil
	}
	result, err := loadIn(t, peer, loadArgs(contract.Echo, 1, "-rate", "50")...) // each 20 ms
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls < 49 || result.Calls > 51 {
		t.Errorf("%d calls, want some 50: a late call is made none the less", result.Calls)
	}
	slow := int64(0)
	for _, pair := range result.Main.Histogram {
		if pair[0] > int64(2*time.Millisecond) {
			slow += pair[1]
		}
	}
	// 500 ms hold 25 intended calls, and catching up takes 1 ms each.
	if slow < 25 || slow > 28 {
		t.Errorf("%d calls were slow, want 25 to 28", slow)
	}
	if most := time.Duration(result.Main.Max); most < 500*time.Millisecond || most > 502*time.Millisecond {
		t.Errorf("the greatest latency is %v, want 501 ms", most)
	}
}
