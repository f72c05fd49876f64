package balance

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"
)

// numbered returns n servers whose IDs are in order.
func numbered(n int) []Node {
	set := make([]Node, n)
	for i := range set {
		set[i] = Node{ID: "server-" + strconv.Itoa(1000+i), Weight: 1, Stats: NewStats(-time.Hour)}
	}
	return set
}

func TestStickyHoldsOverRebuilds(t *testing.T) {
	b, set := Sticky(Random()), numbered(10)
	p := b.Build(set)
	first := p.Pick(Call{Random: next(7)})
	id := set[first].ID
	for k := range 20 {
		set = slices.Clone(set)
		slices.Reverse(set)
		p = b.Build(set)
		if i := p.Pick(Call{Random: next(uint64(k))}); set[i].ID != id {
			t.Fatalf("after rebuild %d the server is %s, want %s", k, set[i].ID, id)
		}
	}
	held := slices.IndexFunc(set, func(n Node) bool { return n.ID == id })
	c := Call{Random: 3}
	c.Tried.Add(set[held].Stats)
	moved := p.Pick(c)
	if moved == held {
		t.Fatal("a call that has tried the server got it again")
	}
	if i := p.Pick(Call{Random: 99}); i != moved {
		t.Errorf("the next call goes to %d, want %d, where the one before moved to", i, moved)
	}
	set = slices.Clone(set)
	set[moved].Avoid = true
	if i := b.Build(set).Pick(Call{Random: 5}); i == moved {
		t.Error("stays with a server that is to be avoided")
	}
}

func TestSubset(t *testing.T) {
	set := numbered(200)
	used := func(client string, set []Node) []string {
		var ids []string
		for i, n := range count(Subset(20, client, Random()).Build(set), set, 5000) {
			if n > 0 {
				ids = append(ids, set[i].ID)
			}
		}
		slices.Sort(ids)
		return ids
	}
	want := used("client-1", set)
	if len(want) != 20 {
		t.Fatalf("uses %d servers, want 20", len(want))
	}
	reversed := slices.Clone(set)
	slices.Reverse(reversed)
	if !slices.Equal(used("client-1", reversed), want) {
		t.Error("another order of the list gives another subset")
	}
	if slices.Equal(used("client-2", set), want) {
		t.Error("two clients have the same subset")
	}
	gone := slices.DeleteFunc(slices.Clone(set), func(n Node) bool { return n.ID == want[3] })
	kept := 0
	for _, id := range used("client-1", gone) {
		if slices.Contains(want, id) {
			kept++
		}
	}
	if kept != 19 {
		t.Errorf("when one server left, %d of 20 stayed, want 19", kept)
	}
	for i := range set {
		set[i].Avoid = set[i].ID == want[0]
	}
	if now := used("client-1", set); len(now) != 20 || slices.Contains(now, want[0]) {
		t.Errorf("a server to avoid is among the %d", len(now))
	}
}

// TestSubsetsAreEven: over many clients every server has about its share.
func TestSubsetsAreEven(t *testing.T) {
	set, clients := numbered(50), make([]int, 50)
	for k := range 500 {
		for _, i := range Subset(10, "client-"+strconv.Itoa(k), nil).Build(set).(tiers)[0].index {
			clients[i]++
		}
	}
	if least, most := slices.Min(clients), slices.Max(clients); least < 65 || most > 140 {
		t.Errorf("servers have %d to %d clients, want about 100", least, most)
	}
}

// TestSlowStart: what part of its share a server gets, beside an older one.
func TestSlowStart(t *testing.T) {
	const window = 30 * time.Second
	for _, test := range []struct {
		name         string
		since, other time.Duration // when the servers were new
		now          time.Duration
		want         float64
	}{
		{"both new", 0, 0, 0, 1},
		{"both new, a moment later", 0, 0, time.Second, 1},
		{"started two seconds later, at first", 2 * time.Second, 0, 2 * time.Second, 0.995},
		{"started two seconds later, then", 2 * time.Second, 0, 12 * time.Second, 0.965},
		{"beside an old one, at first", time.Hour, 0, time.Hour, 0.1},
		{"beside an old one, half of the time", time.Hour, 0, time.Hour + 15*time.Second, 0.5},
		{"beside an old one, at the end", time.Hour, 0, time.Hour + window, 1},
		{"beside one of 10 seconds", 10 * time.Second, 0, 10 * time.Second, 0.857},
		{"beside one of 20 seconds", 20 * time.Second, 0, 20 * time.Second, 0.429},
		{"when the other one is old", 10 * time.Second, 0, 30 * time.Second, 0.667},
		{"new in the future", time.Hour, 0, time.Minute, 0.1},
		{"the older one", 0, 10 * time.Second, 15 * time.Second, 1},
	} {
		set := []Node{{ID: "a", Weight: 1, Stats: NewStats(test.since)}, {ID: "b", Weight: 1, Stats: NewStats(test.other)}}
		p := SlowStart(window, nil).Build(set).(*slowStartPicker)
		if got := p.part(set[0].Stats, test.now); math.Abs(got-test.want) > 1e-3 {
			t.Errorf("%s: %.4f of its share, want %.4f", test.name, got, test.want)
		}
	}
	// Of two equal servers, the new one gets a tenth of its half.
	set := []Node{{ID: "a", Weight: 1, Stats: NewStats(time.Hour)}, {ID: "b", Weight: 1, Stats: NewStats(0)}}
	p, picks, call := SlowStart(window, Random()).Build(set), 0, Call{Random: 1, Now: time.Hour}
	for range 10000 {
		call.Random = next(call.Random)
		if p.Pick(call) == 0 {
			picks++
		}
	}
	if picks < 400 || picks > 600 {
		t.Errorf("a new server gets %d of 10,000 calls, want a tenth of its half", picks)
	}
}

// TestBounded: one popular key does not fill a server.
func TestBounded(t *testing.T) {
	set := numbered(10)
	p := Bounded(1.25, Ring()).Build(set)
	now := time.Duration(0)
	for range 200 {
		now += time.Millisecond
		i := p.Pick(Call{Key: "popular", Now: now})
		set[i].Stats.Begin(now)
	}
	most, home := 0, Ring().Build(set).Pick(Call{Key: "popular"})
	for _, n := range set {
		most = max(most, n.Stats.InFlight())
	}
	if most > 25 || set[home].Stats.InFlight() != most {
		t.Errorf("of 200 calls one server has %d and the key's own %d; want both 25, 1.25 times the average",
			most, set[home].Stats.InFlight())
	}
}

// TestJumpKeepsNumbers: a server to avoid moves its own keys only.
func TestJumpKeepsNumbers(t *testing.T) {
	set := numbered(10)
	before, keys := Jump().Build(set), 5000
	set = slices.Clone(set)
	set[4].Avoid = true
	after := Jump().Build(set)
	for k := range keys {
		c := Call{Key: strconv.Itoa(k)}
		if a, b := before.Pick(c), after.Pick(c); a != b && a != 4 || b == 4 {
			t.Fatalf("key %d moved from server %d to %d", k, a, b)
		}
	}
}

// TestPlacesStay holds the hashes to what earlier versions did: a client of
// another version has to send a key to the same server.
func TestPlacesStay(t *testing.T) {
	set := numbered(10)
	for _, test := range []struct {
		name     string
		balancer Balancer
		want     []int
	}{
		{"ring", Ring(), []int{9, 6, 7, 0, 7, 3}},
		{"maglev", Maglev(), []int{6, 0, 7, 9, 1, 1}},
		{"jump", Jump(), []int{9, 3, 9, 8, 8, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, got := test.balancer.Build(set), []int(nil)
			for _, key := range []string{"a", "b", "user-1", "user-2", "user-3", "order-4711"} {
				got = append(got, p.Pick(Call{Key: key}))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("places %v, want %v", got, test.want)
			}
		})
	}
}

func TestHashIsFNV(t *testing.T) {
	// The vector of RFC 9923 for "foobar".
	if got := hash("foobar"); got != mix(0x85944171f73967e8) {
		t.Errorf("hash of foobar is %x", got)
	}
}
