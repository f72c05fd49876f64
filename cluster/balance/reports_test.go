package balance

import (
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft/instance"
)

func TestBusy(t *testing.T) {
	for _, test := range []struct {
		name string
		load instance.Load
		want float64
	}{
		{"nothing", instance.Load{}, 0},
		{"by Little's law", instance.Load{InFlight: 1, Rate: 1000, Latency: 20 * time.Millisecond}, 20},
		{"calls that do not end", instance.Load{InFlight: 50, Rate: 10, Latency: time.Millisecond}, 50},
		{"below zero", instance.Load{InFlight: -5, Rate: -10, Latency: time.Second}, 0},
		{"no number", instance.Load{Rate: math.NaN(), Latency: time.Second}, 0},
		{"without end", instance.Load{Rate: math.Inf(1), Latency: time.Second}, math.MaxInt32},
	} {
		if got := busy(&test.load); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReports(t *testing.T) {
	set := weighted(1, 1, 2, 1)
	if newReports(set) != nil {
		t.Fatal("there are reports where no server reports")
	}
	set[0].Load, set[1].Load, set[2].Load = &instance.Load{InFlight: 8}, &instance.Load{InFlight: 4}, &instance.Load{InFlight: 16}
	r := newReports(set)
	at := func(i int, now time.Duration) float64 { return r.at(i, set[i].Stats, now) }
	if a, b, c, d := at(0, 0), at(1, 0), at(2, 0), at(3, 0); a != 2*b || c != a || d != r.mean {
		t.Errorf("8, 4, 16 of weight 2, and no calls reported count as %v, %v, %v and %v", a, b, c, d)
	}
	if got, want := at(0, reportHalf), r.mean+(at(0, 0)-r.mean)/2; math.Abs(got-want) > 1e-9 {
		t.Errorf("half a minute later %v, want %v, half as far from the mean", got, want)
	}
	// A rebuild with an equal report does not renew it, one with another does.
	same := *set[0].Load
	set[0].Load, set[1].Load = &same, &instance.Load{InFlight: 5}
	r = newReports(set)
	if a, b := set[0].Stats.reportAge(time.Minute), set[1].Stats.reportAge(time.Minute); a != time.Minute || b != 0 {
		t.Errorf("a minute later the reports are %v and %v old, want a minute and 0", a, b)
	}
	set[0].Load = nil
	r = newReports(set)
	if at(0, 0) != r.mean {
		t.Errorf("a server that no longer reports counts as %v, want the mean, %v", at(0, 0), r.mean)
	}
}
