package numbered

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/codec/internal/room"
)

// wide is a struct that takes much memory for few bytes.
type wide struct {
	Room  [64]string      `weft:"-"`
	Next  *wide           `weft:"1"`
	Many  []wide          `weft:"2"`
	Ptrs  []*wide         `weft:"3"`
	ByInt map[int32]wide  `weft:"4"`
	ByPtr map[int32]*wide `weft:"5"`
	Text  []string        `weft:"6"`
	Ints  []int64         `weft:"7"`
}

// repeated is a field with a value, n times.
func repeated(number protowire.Number, value string, n int) []byte {
	return []byte(strings.Repeat(string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)), n))
}

// TestRoom has bodies whose messages take much more memory than bytes: they are refused before the memory is taken. Others
// are not.
func TestRoom(t *testing.T) {
	many := 1 << 16 // more than there is room for
	if bits.UintSize == 32 {
		many *= 4 // each takes less memory
	}
	entries := func(number protowire.Number, n int) (body []byte) {
		for i := range n {
			body = append(body, repeated(number, string(protowire.AppendVarint([]byte{1 << 3}, uint64(i))), 1)...)
		}
		return body
	}
	for name, test := range map[string]struct {
		body    []byte
		refused bool
	}{
		"messages":              {repeated(2, "", many), true},
		"few messages":          {repeated(2, "", 1<<14), false},
		"apart from each other": {[]byte(strings.Repeat("\x12\x00\x40\x01", many)), true},
		"pointers":              {repeated(3, "", many), true},
		"behind pointers":       {repeated(3, "\x0a\x00", many), true},
		"entries":               {entries(4, many), true},
		"entries with pointers": {entries(5, many), true},
		"one entry each":        {repeated(2, "\x22\x00", 1<<14), true},
		"texts":                 {repeated(6, "", 1<<19), false},
		"numbers":               {repeated(7, strings.Repeat("\x01", 1<<19), 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			used := &wide{Many: make([]wide, 9), Ptrs: []*wide{{}, {}}, ByInt: map[int32]wide{1: {}}}
			for how, err := range map[string]func() error{
				"Decode": func() error { return Decode(test.body, new(wide)) },
				"Reuse":  func() error { return Reuse(test.body, used) },
			} {
				runtime.ReadMemStats(&before)
				err := err()
				runtime.ReadMemStats(&after)
				taken := after.TotalAlloc - before.TotalAlloc
				switch {
				case test.refused != (err != nil && strings.Contains(fmt.Sprint(err), "bytes of memory")):
					t.Errorf("%s: %v, %d bytes were allocated", how, err, taken)
				case int64(taken) > 6*room.For(len(test.body)): // lists that grow are copied
					t.Errorf("%s: %d bytes were allocated for %d", how, taken, len(test.body))
				}
			}
		})
	}
}

// heavy encodes itself, as nothing.
type heavy struct{ room [1024]byte }

func (*heavy) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (h *heavy) UnmarshalWeft([]byte) error           { h.room[0]++; return nil }

// TestRoomOfElements has elements that are no messages and take much more memory than bytes.
func TestRoomOfElements(t *testing.T) {
	type holder struct {
		Blocks [][4096]byte    `weft:"1"`
		Owns   []heavy         `weft:"2"`
		Behind []*heavy        `weft:"3"`
		Own    *heavy          `weft:"4"`
		ByInt  map[int32]heavy `weft:"5"`
		Any    []any           `weft:"6"`
		Text   []string        `weft:"7"`
	}
	for name, test := range map[string]struct {
		body    []byte
		refused bool
	}{
		"arrays of bytes":       {repeated(1, "", 1<<19), true},
		"few arrays":            {repeated(1, "", 1<<12), false},
		"apart from each other": {[]byte(strings.Repeat("\x0a\x00\x40\x01", 1<<18)), true},
		"full arrays":           {repeated(1, strings.Repeat("x", 4096), 1<<11), false},
		"encode themselves":     {repeated(2, "", 1<<19), true},
		"few of them":           {repeated(2, "", 1<<14), false},
		"behind pointers":       {repeated(3, "", 1<<19), true},
		"behind one pointer":    {repeated(4, "", 1<<19), true},
		"any":                   {repeated(6, "", 1<<19), false},
		"texts":                 {repeated(7, "", 1<<19), false},
	} {
		t.Run(name, func(t *testing.T) {
			used := &holder{Blocks: make([][4096]byte, 2), Owns: make([]heavy, 2), Behind: []*heavy{{}}, Own: new(heavy)}
			for how, decode := range map[string]func() error{
				"Decode": func() error { return Decode(test.body, new(holder)) },
				"Reuse":  func() error { return Reuse(test.body, used) },
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := decode()
				runtime.ReadMemStats(&after)
				if test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")) || !test.refused && err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if taken := after.TotalAlloc - before.TotalAlloc; int64(taken) > 6*room.For(len(test.body)) { // lists that grow are copied
					t.Errorf("%s: %d bytes were allocated for %d", how, taken, len(test.body))
				}
			}
		})
	}
}
