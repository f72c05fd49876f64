package balance

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// TestRingOrder holds the points of rings of all sizes to those that a plain sort gives, and each bucket to a search for its
// first point.
func TestRingOrder(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 3000} {
		set := make([]Node, n)
		for i := range set {
			set[i] = Node{ID: fmt.Sprint("server-", i), Weight: i%3 + 1}
		}
		if n == 100 {
			set[99].ID = set[3].ID // whose points are at the same places
		}
		var want []point
		for h, i := range pointsOf(set) {
			want = append(want, point{h, i})
		}
		order := func(a, b point) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(set[a.node].ID, set[b.node].ID))
		}
		slices.SortFunc(want, order)
		p := newRing(set).(*ringPicker)
		if !slices.EqualFunc(p.points, want, func(a, b point) bool { return order(a, b) == 0 }) {
			t.Errorf("the points of %d servers are not in their order", n)
		}
		for b, start := range p.start {
			first, _ := slices.BinarySearchFunc(want, uint64(b), func(q point, b uint64) int { return cmp.Compare(q.hash>>p.shift, b) })
			if int(start) != first {
				t.Fatalf("of %d servers the bucket %d begins at %d, want %d", n, b, start, first)
			}
		}
	}
}
