package table_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weftrpc/weft/door/internal/http2/internal/table"
)

// TestTable opens and ends streams at random, with numbers whose places clash, and compares with a map.
func TestTable(t *testing.T) {
	type stream struct{ id uint32 }
	r := rand.New(rand.NewPCG(1, 2))
	var got table.Table[stream]
	want := make(map[uint32]*stream)
	next := uint32(1)
	for step := range 200_000 {
		if grows := step/20_000%2 == 0; r.IntN(8) < 3 == grows && len(want) > 0 { // it grows and shrinks in turn
			ids := make([]uint32, 0, 4)
			for id := range want {
				if ids = append(ids, id); len(ids) == cap(ids) {
					break
				}
			}
			id := slices.Min(ids)
			got.Take(id)
			delete(want, id)
		} else {
			st := &stream{next}
			got.Put(next, st)
			want[next] = st
			next += 2 * uint32(1+r.IntN(100))
		}
		if got.Len() != len(want) {
			t.Fatalf("%d streams, want %d", got.Len(), len(want))
		}
		id := uint32(r.IntN(int(next)))
		if got.Get(id) != want[id] {
			t.Fatalf("stream %d: %v, want %v", id, got.Get(id), want[id])
		}
	}
	for st := range got.All() {
		if want[st.id] != st {
			t.Errorf("stream %d is not open", st.id)
		}
		delete(want, st.id)
	}
	if len(want) > 0 {
		t.Errorf("%d streams were not listed", len(want))
	}
}

func TestAborted(t *testing.T) {
	var a table.Aborted
	for id := uint32(1); id < 201; id += 2 {
		a.Add(id)
	}
	for id, want := range map[uint32]bool{0: false, 1: false, 71: false, 73: true, 199: true, 201: false} {
		if a.Has(id) != want {
			t.Errorf("stream %d: %v, want %v: the last 64 are known", id, !want, want)
		}
	}
}

func TestRecent(t *testing.T) {
	var r table.Recent
	newest := uint32(0)
	for _, id := range []uint32{1, 3, 9, 11} {
		r.Open(newest, id)
		newest = id
	}
	for id, want := range map[uint32]bool{1: false, 3: false, 5: true, 7: true, 9: false, 11: false} {
		if r.Skipped(newest, id) != want {
			t.Errorf("stream %d: skipped %v, want %v", id, !want, want)
		}
	}
	r.Open(newest, newest+1000)
	if r.Skipped(newest+1000, newest) {
		t.Error("a stream far behind the newest is not known to have been skipped")
	}
}
