package slab

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestNext takes values: none is given out twice, and allocations grow to their bound.
func TestNext(t *testing.T) {
	var s Slab[int]
	seen := make(map[*int]bool)
	made := 0
	for range 2 + 4 + 7 + 7 {
		v := s.Next(2, 7)
		if *v != 0 || seen[v] {
			t.Fatal("a value was given out twice")
		}
		*v, seen[v] = 1, true
		if s.made < made || s.made > 7 {
			t.Fatalf("%d values were made at once, behind %d", s.made, made)
		}
		made = s.made
	}
	if made != 7 || len(s.left) != 0 {
		t.Errorf("%d values are made at once, of which %d are left", made, len(s.left))
	}
}
