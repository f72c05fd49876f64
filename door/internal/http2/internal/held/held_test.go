package held_test

import (
	"testing"

	"github.com/weftrpc/weft/door/internal/http2/internal/held"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestHeld(t *testing.T) {
	scarce := false
	h := held.Held{Closed: 10, Open: 30, Scarce: func() bool { return scarce }}
	for _, step := range []struct {
		add                 int
		scarce              bool
		freed, open, closed bool
	}{
		{add: 9, open: true, closed: true},
		{add: 1, open: true},
		{add: 25},
		{add: -5},
		{add: -1, freed: true, open: true},
		{add: -19, open: true},
		{add: 0, scarce: true},
		{add: -1, scarce: true, freed: true, open: true, closed: true},
		{add: 0, open: true, closed: true},
	} {
		scarce = step.scarce
		if freed := h.Add(step.add); freed != step.freed || h.Room(true) != step.open || h.Room(false) != step.closed {
			t.Errorf("%d bytes, %+d: freed %v, room %v and %v, want %v, %v and %v", h.Bytes, step.add, freed, h.Room(true), h.Room(false), step.freed, step.open, step.closed)
		}
	}
	if small := (held.Held{Closed: 10, Bytes: 9}); !small.Room(true) {
		t.Error("an open window has less room than a closed one")
	}
}
