package slots

import (
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// Every slot there is has a place of its own, which stays.
func TestTable(t *testing.T) {
	var tab Table[uint32]
	for n := range uint32(wire.MaxSlots) {
		if page, _ := place(n); tab.pages[page].Load() == nil && tab.At(n) != nil {
			t.Fatalf("slot %d is there before it was made", n)
		}
		*tab.Need(n) = n
	}
	for n := range uint32(wire.MaxSlots) {
		if p := tab.At(n); *p != n || p != tab.Need(n) {
			t.Fatalf("slot %d holds %d", n, *p)
		}
	}
	made := 0
	for range tab.All {
		made++
	}
	if made != wire.MaxSlots {
		t.Errorf("the pages have %d slots, want %d", made, wire.MaxSlots)
	}
}
