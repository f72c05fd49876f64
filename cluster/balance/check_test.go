package balance_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/instance"
)

// TestCheck: wrong parameters are found, however deep the balancer is wrapped.
func TestCheck(t *testing.T) {
	wraps := map[string]func(balance.Balancer) balance.Balancer{
		"alone":     func(b balance.Balancer) balance.Balancer { return b },
		"SlowStart": func(b balance.Balancer) balance.Balancer { return balance.SlowStart(0, b) },
		"Bounded":   func(b balance.Balancer) balance.Balancer { return balance.Bounded(0, b) },
		"Subset":    func(b balance.Balancer) balance.Balancer { return balance.Subset(0, "client", b) },
		"Zone":      func(b balance.Balancer) balance.Balancer { return balance.Zone("a", b) },
		"Nearest":   func(b balance.Balancer) balance.Balancer { return balance.Nearest(instance.Position{}, b) },
		"Sticky":    balance.Sticky,
		"all": func(b balance.Balancer) balance.Balancer {
			return balance.Zone("a", balance.SlowStart(time.Second, balance.Sticky(balance.Bounded(2, b))))
		},
	}
	for _, test := range []struct {
		name     string
		balancer balance.Balancer
		want     string // in the error; "": none
	}{
		{"nil", nil, ""},
		{"P2C", balance.P2C(), ""},
		{"Ring", balance.Ring(), ""},
		{"defaults", balance.SlowStart(0, balance.Bounded(0, balance.Subset(0, "c", nil))), ""},
		{"window", balance.SlowStart(-1, nil), "SlowStart: the window is -1ns"},
		{"factor below zero", balance.Bounded(-1, nil), "Bounded: the factor is -1"},
		{"factor of 1", balance.Bounded(1, nil), "Bounded: the factor is 1"},
		{"factor that is no number", balance.Bounded(math.NaN(), nil), "Bounded: the factor is NaN"},
		{"factor without end", balance.Bounded(math.Inf(1), nil), "Bounded: the factor is +Inf"},
		{"size", balance.Subset(-5, "c", nil), "Subset: the size is -5"},
		{"client", balance.Subset(5, "", nil), "Subset: the client has no name"},
		{"zone", balance.Zone("", nil), "Zone: the client's zone is empty"},
		{"zone headroom", balance.ZoneWith(balance.ZoneConfig{Local: "a", Headroom: 0.5}, nil), "Zone: Headroom is 0.5"},
		{"zone headroom that is no number", balance.ZoneWith(balance.ZoneConfig{Local: "a", Headroom: math.NaN()}, nil), "Zone: Headroom is NaN"},
		{"zone spill-over", balance.ZoneWith(balance.ZoneConfig{Local: "a", SpillOver: -2}, nil), "Zone: SpillOver is -2"},
		{"zone of the healthy", balance.ZoneWith(balance.ZoneConfig{Local: "a", MinHealthy: 1.5}, nil), "Zone: MinHealthy is 1.5"},
		{"zone, all set", balance.ZoneWith(balance.ZoneConfig{Local: "a", Headroom: math.Inf(1), SpillOver: 1, MinHealthy: 1}, nil), ""},
		{"position", balance.Nearest(instance.Position{Latitude: 91}, nil), "Nearest: position 91, 0 is not on Earth"},
		{"position that is no number", balance.Nearest(instance.Position{Longitude: math.NaN()}, nil), "is not on Earth"},
		{"function", balance.Func(nil), "Func: the function is nil"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for outer, wrap := range wraps {
				err := balance.Check(wrap(test.balancer))
				switch {
				case test.want == "" && err != nil:
					t.Errorf("%s: %v", outer, err)
				case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
					t.Errorf("%s: the error is %v, want one with %q", outer, err, test.want)
				}
			}
		})
	}
}
