package session

import (
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// Every slot there is has a place of its own, which stays.
func TestTable(t *testing.T) {
	var tab table[uint32]
	for n := range uint32(wire.MaxSlots) {
		if page, _ := place(n); tab.pages[page].Load() == nil && tab.at(n) != nil {
			t.Fatalf("slot %d is there before it was made", n)
		}
		*tab.need(n) = n
	}
	for n := range uint32(wire.MaxSlots) {
		if p := tab.at(n); *p != n || p != tab.need(n) {
			t.Fatalf("slot %d holds %d", n, *p)
		}
	}
	made := 0
	tab.all(func(*uint32) { made++ })
	if made != wire.MaxSlots {
		t.Errorf("the pages have %d slots, want %d", made, wire.MaxSlots)
	}
}
