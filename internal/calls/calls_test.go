package calls

import (
	"slices"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

type call struct{ name string }

type stream struct{ name string }

// open takes a slot for a call.
func open(t *testing.T, tab *Table[call, stream], c *call, most uint32) uint32 {
	t.Helper()
	id, sl := tab.Take(0, most)
	if sl == nil {
		t.Fatalf("%d slots are taken, and there is none for %s among %d", tab.Open(), c.name, most)
	}
	sl.Call.Store(c)
	return id
}

// A slot that was freed is used again, with the next generation, and the id of the call before it finds nothing.
func TestSlotIsUsedAgain(t *testing.T) {
	var tab Table[call, stream]
	tab.Init(nil)
	first := open(t, &tab, &call{"first"}, 1)
	if _, sl := tab.Take(0, 1); sl != nil {
		t.Error("there is a second slot, and the peer takes one call")
	}
	tab.Slot(0).At = 7
	if at, ok := tab.Release(first); at != 7 || !ok {
		t.Errorf("Release returned %d, %v, want the place of the request, 7", at, ok)
	}
	if at, ok := tab.Release(first); at != Unsent || ok {
		t.Errorf("Release of a call that has ended returned %d, %v", at, ok)
	}
	second := open(t, &tab, &call{"second"}, 1)
	if wire.Slot(second) != wire.Slot(first) || second == first {
		t.Errorf("the calls had the ids %#x and %#x, want the same slot and another generation", first, second)
	}
	tab.Mark(first, 9)
	if tab.Holds(first) || !tab.Holds(second) || tab.Slot(0).At == 9 {
		t.Errorf("the id of the first call still finds the slot")
	}
	if tab.Holds(wire.ID(1000, 1)) {
		t.Error("a slot that was never used is held")
	}
	if n := tab.Open(); n != 1 {
		t.Errorf("%d calls are open, want 1", n)
	}
}

// The generation of a slot goes round.
func TestGenerations(t *testing.T) {
	var tab Table[call, stream]
	seen := make(map[uint32]bool)
	for range 1 << 16 {
		id, _ := tab.Take(0, 1)
		if seen[id] {
			t.Fatalf("the id %#x came twice", id)
		}
		seen[id] = true
		tab.Release(id)
	}
	if id, _ := tab.Take(0, 1); !seen[id] {
		t.Errorf("the id %#x is beyond those of all generations", id)
	}
}

// Slots beyond a limit that is told later are not used again.
func TestLimitToldLate(t *testing.T) {
	var tab Table[call, stream]
	var ids []uint32
	for range 6 {
		ids = append(ids, open(t, &tab, new(call), 8))
	}
	tab.Release(ids[5])
	tab.Limit(3)
	for _, id := range ids[:5] {
		tab.Release(id)
	}
	if n := tab.Open(); n != 0 {
		t.Errorf("%d calls are open, want none", n)
	}
	var used []uint32
	for {
		id, sl := tab.Take(0, 3)
		if sl == nil {
			break
		}
		used = append(used, wire.Slot(id))
	}
	slices.Sort(used)
	if !slices.Equal(used, []uint32{0, 1, 2}) {
		t.Errorf("the slots %d are used, want those below 3", used)
	}
}

// Streams finds the streams of calls that have not ended, and End the calls whose caller waits.
func TestStreamsAndEnd(t *testing.T) {
	var tab Table[call, stream]
	var ids []uint32
	for _, name := range []string{"ended", "plain", "given up", "stream"} {
		ids = append(ids, open(t, &tab, &call{name}, 8))
		tab.Slot(uint32(len(ids) - 1)).At = uint64(len(ids))
	}
	for _, n := range []uint32{0, 3} {
		tab.Begin(ids[n], &stream{"of " + tab.Slot(n).Call.Load().name})
	}
	tab.Slot(0).Call.Store(nil)
	tab.Release(ids[0])
	tab.Slot(2).Call.Store(nil)
	var streams []string
	tab.Streams(func(s *stream) { streams = append(streams, s.name) })
	if !slices.Equal(streams, []string{"of stream"}) {
		t.Errorf("the streams are %q", streams)
	}
	var calls []string
	tab.End(func(c *call, at uint64) {
		calls = append(calls, c.name)
		if want := map[string]uint64{"plain": 2, "stream": 4}[c.name]; at != want {
			t.Errorf("%s began at %d, want %d", c.name, at, want)
		}
	})
	if !slices.Equal(calls, []string{"plain", "stream"}) {
		t.Errorf("the calls are %q", calls)
	}
	tab.End(func(c *call, _ uint64) { t.Errorf("%s has ended twice", c.name) })
	if n := tab.Open(); n != 3 {
		t.Errorf("%d slots are taken, want those of the 3 that the peer has not ended", n)
	}
}
