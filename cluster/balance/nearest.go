package balance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weftrpc/weft/instance"
)

// metro is the distance in kilometres up to which servers count as equally near as the
// nearest one: light takes half a millisecond for it, both ways.
const metro = 50.0

// Nearest picks among the servers nearest to a position, with inner (nil: [P2C]):
// those up to 50 km farther than the nearest one count as equally near. Farther
// ones, and last those without a position, are picked when every nearer one was
// tried. Load does not send a call farther away; [Bounded] around Nearest does.
func Nearest(from instance.Position, inner Balancer) Balancer {
	return nearest{from, orDefault(inner)}
}

type nearest struct {
	from  instance.Position
	inner Balancer
}

// Check refuses a position that is not on Earth.
func (n nearest) Check() error {
	if !n.from.Valid() {
		return fmt.Errorf("balance.Nearest: position %v, %v is not on Earth: want a latitude of -90 to 90 and a longitude of -180 to 180",
			n.from.Latitude, n.from.Longitude)
	}
	return Check(n.inner)
}

func (n nearest) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker {
		return inParts(set, n.rings(set), n.inner.Build)
	})
}

// rings groups the servers by distance, nearest first.
func (n nearest) rings(set []Node) [][]int {
	far := make([]float64, len(set))
	order := make([]int, len(set))
	for i, node := range set {
		far[i], order[i] = math.Inf(1), i
		if node.Position != nil {
			if d := n.from.Distance(*node.Position); !math.IsNaN(d) {
				far[i] = d
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far[a], far[b]) })
	var rings [][]int
	begin := 0.0
	for _, i := range order {
		if len(rings) == 0 || far[i] > begin+metro {
			rings, begin = append(rings, nil), far[i]
		}
		last := len(rings) - 1
		rings[last] = append(rings[last], i)
	}
	return rings
}
