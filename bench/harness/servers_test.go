package harness

import (
	"slices"
	"testing"

	"github.com/weftrpc/weft/bench/contract"
)

func TestCallersAreSpreadOverTheServers(t *testing.T) {
	tests := []struct {
		name    string
		callers int
		addrs   string
		shares  []int // callers of each server
	}{
		{"one server", 5, "a:1", []int{5}},
		{"even", 4, "a:1,b:2", []int{2, 2}},
		{"odd", 5, "a:1,b:2", []int{3, 2}},
		{"more servers than callers", 2, "a:1,b:2,c:3", []int{1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peer := newScript()
			result, err := loadIn(t, peer, loadArgs(contract.Echo, test.callers, "-addr", test.addrs, "-conns", "2")...)
			if err != nil {
				t.Fatal(err)
			}
			var shares []int
			for i, cfg := range peer.dials {
				shares = append(shares, cfg.Callers)
				if want := string("abc"[i]) + ":" + string("123"[i]); cfg.Addr != want || cfg.Conns != 2 {
					t.Errorf("dial %d was told %q and %d connections, want %q and 2", i, cfg.Addr, cfg.Conns, want)
				}
			}
			if !slices.Equal(shares, test.shares) {
				t.Errorf("callers of each server: %v, want %v", shares, test.shares)
			}
			if want := 3 * len(test.shares); result.Conns != want {
				t.Errorf("%d connections, want %d of each server", result.Conns, want)
			}
			if want := int64(1000 * test.callers); result.Calls != want {
				t.Errorf("%d calls, want %d: every caller calls", result.Calls, want)
			}
		})
	}
}

func TestEveryCallOnAConnectionOfItsOwn(t *testing.T) {
	peer := newScript()
	result, err := loadIn(t, peer, loadArgs(contract.MathNew, 2, "-calls", "100", "-conns", "7")...)
	if err != nil {
		t.Fatal(err)
	}
	if dials, calls := int64(len(peer.dials)), peer.calls.Load(); dials != calls || calls < 100 {
		t.Errorf("%d connections for %d calls", dials, calls)
	}
	for _, cfg := range peer.dials {
		if cfg.Callers != 1 || cfg.Conns != 1 {
			t.Fatalf("dialed with %+v, want one caller and one connection", cfg)
		}
	}
	if result.Calls != 100 || result.Conns != 2 {
		t.Errorf("%d calls, %d connections at a time; want 100, 2", result.Calls, result.Conns)
	}
}
