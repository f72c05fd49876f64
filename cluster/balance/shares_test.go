package balance

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/instance"
)

func TestSmoothOrder(t *testing.T) {
	for _, test := range []struct {
		name    string
		weights []int
		want    string
	}{
		{"the example of Nginx", []int{5, 1, 1}, "aabacaa"},
		{"equal", []int{1, 1, 1}, "abc"},
		{"common divisor", []int{200, 100}, "aba"},
		{"one", []int{7}, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			for _, i := range smooth(turns(weighted(test.weights...))) {
				got.WriteByte(byte('a' + i))
			}
			if got.String() != test.want {
				t.Errorf("order %s, want %s", got.String(), test.want)
			}
		})
	}
}

// plainSmooth is the order as Nginx computes it: a step looks at every server.
func plainSmooth(turns []int) []int32 {
	total := 0
	for _, t := range turns {
		total += t
	}
	gained := make([]int, len(turns))
	schedule := make([]int32, total)
	for k := range schedule {
		best := 0
		for i, t := range turns {
			gained[i] += t
			if gained[i] > gained[best] {
				best = i
			}
		}
		gained[best] -= total
		schedule[k] = int32(best)
	}
	return schedule
}

// TestSmoothOrderIsExact: looking at one server of each class gives the order of Nginx.
func TestSmoothOrderIsExact(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		all := make([]int, 1+source.IntN(40))
		for i, most := 0, 1+source.IntN(20); i < len(all); i++ {
			all[i] = 1 + source.IntN(most)
		}
		if got, want := smooth(all), plainSmooth(all); !slices.Equal(got, want) {
			t.Fatalf("turns %v: order %v, want %v", all, got, want)
		}
	}
}

// TestSmoothSteps: the schedule of a large list takes few steps, whatever the weights.
func TestSmoothSteps(t *testing.T) {
	const n = 10_000
	for _, test := range []struct {
		name   string
		weight func(i int) int
		most   int // steps
	}{
		{"equal", func(int) int { return 100 }, n},
		{"three weights", func(i int) int { return 100 * (i%3 + 1) }, 3 * 2 * n},
		{"every weight up to 1000", func(i int) int { return i%1000 + 1 }, 10 * 5 * n},
		{"all different", func(i int) int { return i + 1 }, 10 * 5 * n},
		{"as many different turns as there can be", func(i int) int { return max(280-i, 1) }, 16_000_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := make([]Node, n)
			for i := range set {
				set[i].Weight = test.weight(i)
			}
			all := turns(set)
			total := 0
			for _, t := range all {
				total += t
			}
			if steps := total * len(classes(all)); steps > test.most {
				t.Errorf("%d turns of %d classes: %d steps, want at most %d", total, len(classes(all)), steps, test.most)
			}
			counts := make([]int, n)
			for _, i := range smooth(all) {
				counts[i]++
			}
			if !slices.Equal(counts, all) {
				t.Error("a server has not as many places in the schedule as it has turns")
			}
		})
	}
}

func TestTurnsAreBounded(t *testing.T) {
	all := turns(weighted(1, 1_000_003, math.MaxInt))
	if sum := all[0] + all[1] + all[2]; sum > 4096+3 {
		t.Errorf("%d turns for huge weights, want about 4096", sum)
	}
	if slices.Contains(all, 0) {
		t.Errorf("turns %v: every server has at least one", all)
	}
}

func weighted(weights ...int) []Node {
	set := make([]Node, len(weights))
	for i, w := range weights {
		set[i] = Node{ID: string(rune('a' + i)), Weight: w, Stats: NewStats(-time.Hour)}
	}
	return set
}

// count picks n times without any load.
func count(p Picker, set []Node, n int) []int {
	counts := make([]int, len(set))
	c := Call{Random: 1}
	for range n {
		c.Random = next(c.Random)
		counts[p.Pick(c)]++
	}
	return counts
}

func TestZoneShares(t *testing.T) {
	for _, test := range []struct {
		name    string
		weights []float64 // of zones, the local one first
		room    float64
		want    []float64
	}{
		{"equal zones keep to themselves", []float64{3, 3, 3}, 1, []float64{1, 0, 0}},
		{"a large zone too", []float64{6, 3, 3}, 1, []float64{1, 0, 0}},
		{"a small one spills the rest to those with servers to spare", []float64{1, 4, 4}, 1, []float64{1. / 3, 1. / 3, 1. / 3}},
		{"not to a zone that is short itself", []float64{2, 2, 5}, 1, []float64{2. / 3, 0, 1. / 3}},
		{"with headroom it spills less", []float64{1, 4, 4}, 1.4, []float64{1.4 / 3, 0.8 / 3, 0.8 / 3}},
		{"or nothing", []float64{3, 4, 4}, 1.4, []float64{1, 0, 0}},
		{"one server of three", []float64{1, 2}, 1.4, []float64{2.8 / 3, 0.2 / 3}},
		{"without a bound", []float64{1, 99}, math.Inf(1), []float64{1, 0}},
		{"no local server, without a bound", []float64{0, 3, 3}, math.Inf(1), []float64{0, 0.5, 0.5}},
		{"no local server", []float64{0, 3, 3}, 1.4, []float64{0, 0.5, 0.5}},
		{"the only zone with servers", []float64{6}, 1, []float64{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			total := 0.0
			for _, w := range test.weights {
				total += w
			}
			for k, got := range zoneShares(test.weights, total, test.room) {
				if math.Abs(got-test.want[k]) > 1e-9 {
					t.Errorf("zone %d gets %.3f, want %.3f", k, got, test.want[k])
				}
			}
		})
	}
}

// zones returns servers, one for each letter, in the zone of that name.
func zones(names string) []Node {
	set := make([]Node, len(names))
	for i := range set {
		set[i] = Node{ID: string(rune('A' + i)), Weight: 1, Zone: names[i : i+1], Stats: NewStats(-time.Hour)}
	}
	return set
}

func TestZone(t *testing.T) {
	for _, test := range []struct {
		name  string
		zones string
		avoid string // of these places, counted from A
		want  map[string]float64
	}{
		{"local only", "aaabbbccc", "", map[string]float64{"a": 1}},
		{"local zone lost", "aaabbbccc", "ABC", map[string]float64{"b": 0.5, "c": 0.5}},
		{"two of three lost", "aaabbbccc", "AB", map[string]float64{"a": 0.6, "b": 0.2, "c": 0.2}},
		{"panic", "aaabbbccc", "DEFGH", map[string]float64{"a": 0.75, "c": 0.25}},
		{"two servers", "ab", "", map[string]float64{"a": 1}},
		{"two servers, the local one lost", "ab", "A", map[string]float64{"b": 1}},
		{"two servers, the other one lost", "ab", "B", map[string]float64{"a": 1}},
		{"two servers elsewhere", "bc", "", map[string]float64{"b": 0.5, "c": 0.5}},
		{"one of five", "abbbb", "", map[string]float64{"a": 0.56, "b": 0.44}},
		{"servers that name no zone", "aaa---", "", map[string]float64{"a": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := zones(test.zones)
			for i := range set {
				set[i].Avoid = strings.Contains(test.avoid, set[i].ID)
			}
			got := map[string]float64{}
			for i, n := range count(Zone("a", Random()).Build(set), set, 20000) {
				got[set[i].Zone] += float64(n) / 20000
			}
			for name, share := range got {
				if math.Abs(share-test.want[name]) > 0.02 {
					t.Errorf("zone %s gets %.3f, want %.3f", name, share, test.want[name])
				}
			}
		})
	}
}

// TestZoneFailover: with every local server tried, a call leaves the zone.
func TestZoneFailover(t *testing.T) {
	set := zones("aaabbb")
	p := Zone("a", nil).Build(set)
	var c Call
	for k := range set {
		c.Random = next(c.Random)
		i := p.Pick(c)
		if want := "aaabbb"[k : k+1]; set[i].Zone != want {
			t.Errorf("attempt %d goes to zone %s, want %s", k, set[i].Zone, want)
		}
		c.Tried.Add(set[i].Stats)
	}
}

func TestNearest(t *testing.T) {
	at := func(lat, lon float64) *instance.Position { return &instance.Position{Latitude: lat, Longitude: lon} }
	set := weighted(1, 1, 1, 1, 1, 1)
	for i, p := range []*instance.Position{at(48.85, 2.35), at(52.52, 13.40), at(52.39, 13.06), nil, at(39.9, 116.4), at(math.NaN(), 0)} {
		set[i].Position = p
	}
	p := Nearest(instance.Position{Latitude: 52.5, Longitude: 13.4}, Random()).Build(set)
	counts := count(p, set, 2000)
	if counts[1] < 900 || counts[2] < 900 {
		t.Errorf("Berlin and Potsdam, 30 km apart, get %d and %d of 2000", counts[1], counts[2])
	}
	var c Call
	order := ""
	for range 4 {
		i := p.Pick(c)
		order += set[i].ID
		c.Tried.Add(set[i].Stats)
	}
	if order != "bcae" && order != "cbae" {
		t.Errorf("order by distance %s, want b and c, then a (Paris), then e (Beijing)", order)
	}
}
