package shop

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
)

// unpalleted is a Pallet without the generated methods.
type unpalleted Pallet

// TestPalletRoom has bodies whose arrays, and values that encode themselves, take about as much memory as they may, some 33 MB. With
// generated code those are refused that the plan refuses, before there is memory for them.
func TestPalletRoom(t *testing.T) {
	const (
		block  = "\x0a\x00"
		seal   = "\x12\x00"
		behind = "\x2a\x02\x1a\x00" // a Pallet with a Seal behind a pointer, 1088 bytes
		blocks = "\x2a\x02\x22\x00" // with an array behind a pointer
	)
	c := protobuf.New()
	for i, test := range []struct {
		element string
		n       int
		refused bool
	}{
		{block, 8000, false}, {block, 9000, true}, {block, 1 << 19, true}, {seal, 32000, false}, {seal, 36000, true}, {seal, 1 << 19, true},
		{behind, 28000, false}, {behind, 36000, true}, {blocks, 7500, false}, {blocks, 9000, true}, {blocks, 1 << 18, true},
	} {
		body := []byte(strings.Repeat(test.element, test.n))
		used := &Pallet{Blocks: make([][4096]byte, 2), Seals: make([]Seal, 2), Many: []Pallet{{Seal: new(Seal), Block: new([4096]byte)}}}
		for how, decode := range map[string]func() error{
			"Decode":      func() error { return c.Decode(body, new(Pallet)) },
			"DecodeReuse": func() error { return c.(codec.Reuser).DecodeReuse(body, used) },
			"the plan":    func() error { return c.Decode(body, new(unpalleted)) },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := decode()
			runtime.ReadMemStats(&after)
			if refused := err != nil && strings.Contains(err.Error(), "bytes of memory"); refused != test.refused || !refused && err != nil {
				t.Errorf("body %d: %s: %v", i, how, err)
			}
			if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 200 { // the room of the longest body is 48
				t.Errorf("body %d: %s: %d MiB were allocated", i, how, taken)
			}
		}
	}
}

// TestPallet has the same values with and without generated code.
func TestPallet(t *testing.T) {
	c, want := protobuf.New(), Pallet{Blocks: [][4096]byte{{1}, {}}, Seals: []Seal{{2}, {}}, Seal: &Seal{3}, Block: &[4096]byte{4}}
	body, err := c.Append(nil, &want)
	if err != nil {
		t.Fatal(err)
	}
	got, plan, used := Pallet{}, unpalleted{}, Pallet{Seals: []Seal{{8}}, Seal: &Seal{9, 9}, Block: &[4096]byte{0, 9}}
	for how, err := range map[string]error{"Decode": c.Decode(body, &got), "the plan": c.Decode(body, &plan), "DecodeReuse": c.(codec.Reuser).DecodeReuse(body, &used)} {
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
	for _, v := range []*Pallet{&got, (*Pallet)(&plan), &used} {
		if v.Many = nil; !reflect.DeepEqual(v, &want) {
			t.Errorf("%.100v", v)
		}
	}
}
