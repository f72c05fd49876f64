package route_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// split sends some percent to version 2.
func split(t testing.TB, percent float64, by string) *route.Plan {
	t.Helper()
	return parse(t, fmt.Sprintf(`{"routes":[{"name":"canary","by":%q,"to":[
		{"percent":%v,"match":{"version":"1.*"}},{"percent":%v,"match":{"version":"2.*"}}]}]}`, by, 100-percent, percent)).Plan(fleet())
}

func isNew(p *route.Plan, c route.Call) bool { return index(p, p.Route(c).Subset) == "[2]" }

func TestShares(t *testing.T) {
	const n = 20_000
	for _, percent := range []float64{0, 0.25, 1, 10, 50, 99.5, 100} {
		p := split(t, percent, "")
		random := rand.New(rand.NewPCG(1, 2))
		byChance, byKey := 0, 0
		for i := range n {
			if isNew(p, route.Call{Random: random.Uint64()}) {
				byChance++
			}
			if isNew(p, route.Call{Random: random.Uint64(), Key: fmt.Sprint("user-", i)}) {
				byKey++
			}
		}
		share := percent / 100
		within := 5 * math.Sqrt(n*share*(1-share)) // five standard deviations
		for name, got := range map[string]int{"by chance": byChance, "by key": byKey} {
			if math.Abs(float64(got)-n*share) > within {
				t.Errorf("%v %% %s: %d of %d calls", percent, name, got, n)
			}
		}
	}
}

func TestSticky(t *testing.T) {
	byUser, byKey := split(t, 50, "user"), split(t, 50, "")
	changed := 0
	for i := range 1000 {
		user := fmt.Sprint("user-", i)
		meta := weft.NewMetadata("user", user)
		first := isNew(byUser, route.Call{Metadata: meta})
		for range 5 {
			c := route.Call{Metadata: meta, Key: fmt.Sprint(rand.Int()), Random: rand.Uint64()}
			if isNew(byUser, c) != first {
				t.Fatalf("%s changes sides", user)
			}
			if isNew(byUser, route.Call{Key: user, Random: rand.Uint64()}) != first {
				t.Fatalf("%s as the key of the call is on another side", user)
			}
		}
		if isNew(byKey, route.Call{Metadata: meta, Random: rand.Uint64()}) != first {
			changed++
		}
	}
	if changed < 300 {
		t.Errorf("without a key only %d of 1000 calls changed sides, so chance does not decide", changed)
	}
}

// TestGrowing: when a canary grows, users who have it keep it.
func TestGrowing(t *testing.T) {
	small, large := split(t, 10, ""), split(t, 25, "")
	for i := range 10_000 {
		c := route.Call{Key: fmt.Sprint(i)}
		if isNew(small, c) && !isNew(large, c) {
			t.Fatalf("%s has lost the canary", c.Key)
		}
	}
}

// TestRoutesAreIndependent: a user who is among the 10 % of one route is not more
// often among those of another.
func TestRoutesAreIndependent(t *testing.T) {
	route2 := func(name string) *route.Plan {
		return parse(t, `{"routes":[{"name":"`+name+`","to":[{"percent":90,"match":{"version":"1.*"}},{"percent":10,"match":{"version":"2.*"}}]}]}`).Plan(fleet())
	}
	one, other := route2("one"), route2("other")
	both := 0
	for i := range 40_000 {
		c := route.Call{Key: fmt.Sprint(i)}
		if isNew(one, c) && isNew(other, c) {
			both++
		}
	}
	if both < 300 || both > 500 {
		t.Errorf("%d of 40000 users are in both, want about 400", both)
	}
}

// TestRandomStaysRandom: of the calls of a small side, the random bits are still
// even, so that a balancer can use them again.
func TestRandomStaysRandom(t *testing.T) {
	p := split(t, 5, "")
	random := rand.New(rand.NewPCG(3, 4))
	var top [8]int
	total := 0
	for range 60_000 {
		if r := random.Uint64(); isNew(p, route.Call{Random: r}) {
			top[r>>61]++
			total++
		}
	}
	for _, n := range top {
		if want := total / len(top); n < want*8/10 || n > want*12/10 {
			t.Errorf("the first bits of the calls of one side are uneven: %v", top)
			break
		}
	}
}

// TestPlaces holds the places of keys fixed: clients of different versions must
// agree on them.
func TestPlaces(t *testing.T) {
	p := split(t, 50, "")
	got := ""
	for i := range 64 {
		if isNew(p, route.Call{Key: fmt.Sprint("user-", i)}) {
			got += "1"
		} else {
			got += "0"
		}
	}
	if want := "0101011101111001011111100000100001110000010000001111010100000000"; got != want {
		t.Errorf("the sides of user-0 to user-63 are\n%s, want\n%s", got, want)
	}
}
