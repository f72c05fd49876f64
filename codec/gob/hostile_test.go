package gob

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
)

type list struct{ Next *list }

type entry struct{ A int }

// message frames parts of a body.
func message(parts ...[]byte) []byte {
	whole := bytes.Join(parts, nil)
	return append(appendUint(nil, uint64(len(whole))), whole...)
}

// bodyOf returns the encoding of v.
func bodyOf(t testing.TB, v any) []byte {
	t.Helper()
	body, err := New().Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// split returns the descriptions of body and its value, without the length.
func split(t testing.TB, body []byte) (defs, value []byte) {
	t.Helper()
	s := &scanner{rest: body, types: make(descriptions)}
	s.typeSequence(false)
	if s.err != nil {
		t.Fatal(s.err)
	}
	if int(body[len(s.defs)]) != len(body)-len(s.defs)-1 {
		t.Fatalf("body is not descriptions and one short message: %x", body)
	}
	return slices.Clip(body[:len(s.defs)]), body[len(s.defs)+1:]
}

// idOf is the number of the type that a value begins with. The numbers grow with the
// types of the tests that ran before, to more bytes than two.
func idOf(value []byte) []byte {
	if value[0] < 0x80 {
		return value[:1]
	}
	return value[:1+256-int(value[0])]
}

func TestDecodeRefuses(t *testing.T) {
	huge := appendUint(nil, 1<<40)
	mapDefs, mapValue := split(t, bodyOf(t, map[string]int{"a": 1}))
	mapID := idOf(mapValue)
	structDefs, structValue := split(t, bodyOf(t, entry{1}))
	sliceDefs, sliceValue := split(t, bodyOf(t, []string{"a"}))
	keyDefs, keyValue := split(t, bodyOf(t, map[entry]entry{{1}: {2}}))

	for name, test := range map[string]struct {
		body []byte
		want string
	}{
		"empty":              {nil, "ends within"},
		"claimed message":    {append(appendUint(nil, 9<<20), 4, 0, 2), "message of 9437184 bytes claimed, 3 are left"},
		"claimed map":        {append(mapDefs, message(mapID, []byte{0}, huge)...), "1099511627776 elements claimed, 0 bytes are left"},
		"map that overflows": {append(mapDefs, message(mapID, []byte{0}, appendUint(nil, 1<<63+1), make([]byte, 9))...), "elements claimed"},
		"claimed slice":      {append(sliceDefs, message(idOf(sliceValue), []byte{0}, huge, make([]byte, 99))...), "elements claimed, 99 bytes"},
		"endless map":        {append(keyDefs, message(idOf(keyValue), []byte{0}, huge)...), "elements claimed"},
		"field beyond":       {append(structDefs, message(idOf(structValue), []byte{2, 2, 0})...), "beyond its last"},
		"no leading zero":    {message([]byte{4, 1, 2}), "leading zero"},
		"unknown type":       {message(appendInt(nil, 70), []byte{0, 0}), "type 70 is not described"},
		"reserved type":      {message([]byte{32, 0, 0}), "type 16 is not described"},
		"described twice":    {append(append([]byte{}, structDefs...), bodyOf(t, entry{1})...), "described twice"},
		"long number":        {message([]byte{4, 0, 0x80}), "number of 128 bytes"},
		"value behind":       {append(bodyOf(t, 1), bodyOf(t, 2)...), "bytes behind the value"},
		"byte in message":    {message([]byte{4, 0, 2, 0}), "1 bytes behind the value"},
		"too many types":     {manyTypes(30_000), "descriptions of types take more than 262144 bytes"},
		"interface squared":  {message([]byte{16, 0, 1, 'x', 16, 4, 0, 0}), "interface holds an interface"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []any{new(any), new(map[string]int), new(entry), new([]string), new(map[entry]entry)} {
				err := New().Decode(test.body, v)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Decode into a %T: %v, want %q", v, err, test.want)
				}
			}
		})
	}
}

// manyTypes returns a body that describes n types.
func manyTypes(n int) []byte {
	var body []byte
	for id := range int64(n) {
		body = append(body, message(appendInt(nil, -id-firstDescribed), []byte{2, 2, 4, 0, 0})...) // a slice of int
	}
	return append(body, message([]byte{4, 0, 2})...)
}

func TestDepth(t *testing.T) {
	chain := func(n int) *list {
		var l *list
		for range n {
			l = &list{l}
		}
		return l
	}
	var got list
	if err := New().Decode(bodyOf(t, chain(codec.MaxDepth)), &got); err != nil {
		t.Errorf("%d deep: %v", codec.MaxDepth, err)
	}
	if _, err := New().Append(nil, chain(codec.MaxDepth+1)); err == nil {
		t.Errorf("encoded %d deep: no error", codec.MaxDepth+1)
	}
	var deeper bytes.Buffer
	if err := gob.NewEncoder(&deeper).Encode(chain(codec.MaxDepth + 1)); err != nil {
		t.Fatal(err)
	}
	if err := New().Decode(deeper.Bytes(), &got); err == nil {
		t.Errorf("decoded %d deep: no error", codec.MaxDepth+1)
	}

	// 8 MiB of a list in a list: encoding/gob alone overflows the stack, which
	// ends the process.
	defs, value := split(t, bodyOf(t, chain(2)))
	deep := message(idOf(value), bytes.Repeat([]byte{1}, 4<<20), make([]byte, 4<<20+1))
	start := time.Now()
	err := New().Decode(append(defs, deep...), &got)
	if err == nil || !strings.Contains(err.Error(), "nesting deeper than 64") {
		t.Errorf("4 million deep: %v after %v", err, time.Since(start))
	}
}

// TestMemory has bodies that are dense with what takes memory.
func TestMemory(t *testing.T) {
	for name, body := range map[string][]byte{
		"types":  manyTypes(20_000),
		"claims": append(appendUint(nil, 9<<20), 4, 0, 2),
		"long":   bytes.Repeat([]byte{1, 0}, 1<<20),
	} {
		used := int64(1 << 62)
		for range 3 { // the least, as other goroutines may allocate meanwhile
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = New().Decode(body, new(int))
			runtime.ReadMemStats(&after)
			used = min(used, int64(after.TotalAlloc-before.TotalAlloc))
		}
		most := int64(64<<10 + 100*len(body))
		if name == "long" {
			most = 64 << 10 // its first bytes are not sound
		}
		if used > most {
			t.Errorf("%s: %d bytes of body make Decode allocate %d, want at most %d", name, len(body), used, most)
		}
	}
}

// wide is a struct that takes much memory for few bytes.
type wide struct {
	Room  [128]int64
	Next  *wide
	Many  []wide
	Any   any
	Small []int
	Map   map[string]wide
}

// TestRoom has bodies whose elements take much more memory than bytes.
func TestRoom(t *testing.T) {
	gob.Register([]wide{})
	type other struct{ Other []wide }
	many := func(n int) []wide { return make([]wide, n) }
	empty := func(n int) []byte { // n empty structs
		defs, value := split(t, bodyOf(t, []entry{{1}}))
		return append(defs, message(idOf(value), []byte{0}, appendUint(nil, uint64(n)), make([]byte, n))...)
	}
	pairs := make(map[[2]int]int)
	for i := range 1000 {
		pairs[[2]int{i, i}] = i
	}
	for name, test := range map[string]struct {
		body    []byte
		v       any
		refused bool
	}{
		"structs":        {empty(1 << 16), new([]wide), true},
		"pointers":       {empty(1 << 16), new([]*wide), true},
		"few structs":    {empty(1 << 12), new([]wide), false},
		"small structs":  {empty(1 << 16), new([]struct{ A int }), false},
		"itself":         {bodyOf(t, many(40)), new([]wide), false},
		"field":          {bodyOf(t, struct{ Many []entry }{make([]entry, 1<<16)}), new(wide), true},
		"unknown field":  {bodyOf(t, struct{ Many []entry }{make([]entry, 1<<16)}), new(other), false},
		"small elements": {bodyOf(t, wide{Small: make([]int, 1<<16)}), new(wide), false},
		"any":            {bodyOf(t, struct{ Any any }{many(200)}), new(wide), false},
		"map":            {bodyOf(t, map[int]entry{1: {2}}), new(map[int]wide), false},
		"keys":           {bodyOf(t, pairs), new(map[[2]int]int), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := New()
			for range 2 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := c.Decode(test.body, test.v)
				runtime.ReadMemStats(&after)
				used := after.TotalAlloc - before.TotalAlloc
				if test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")) || test.refused && used > 16<<20 {
					t.Errorf("%v, %d bytes were allocated", err, used)
				}
			}
		})
	}
}

// TestRoomBehindInterfaces has many values of a registered type, each of a byte.
func TestRoomBehindInterfaces(t *testing.T) {
	gob.Register([]wide{})
	const n = 1 << 16
	defs, value := split(t, bodyOf(t, []any{1}))
	wideDefs, wideValue := split(t, bodyOf(t, []entry{{1}}))
	name := "[]gob.wide"
	held := bytes.Join([][]byte{{byte(len(name))}, []byte(name), idOf(wideValue), message([]byte{0}, appendUint(nil, n), make([]byte, n))}, nil)
	body := append(append(append([]byte{}, defs...), wideDefs...), message(idOf(value), []byte{0, 1}, held)...)
	var v []any
	if err := New().Decode(body, &v); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Errorf("%v", err)
	}
}

// TestGrowth has bodies of many types, many values behind interfaces, and many
// values behind those.
func TestGrowth(t *testing.T) {
	gob.Register([]any{})
	gob.Register(map[string]any{})
	register()
	targets := []any{new(any), new([]any), new(entry), new(map[string]any), new(holder), new(string)}
	codectest.Growth(t, New(), 8<<10, func(n int) []byte { return manyTypes(n / 10) }, targets...)
	for name, part := range map[string]any{
		"nil": nil, "number": 1, "list": []any{nil}, "map": map[string]any{"a": []any{}}, "holder": holder{Shape: holder{Shape: square{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			codectest.Growth(t, New(), 8<<10, func(n int) []byte { return bodyOf(t, slices.Repeat([]any{part}, n/8)) }, targets...)
			codectest.Growth(t, New(), 8<<10, func(n int) []byte {
				body := bodyOf(t, slices.Repeat([]any{part}, n/8))
				return append(manyTypes(1000)[:9000], body...)
			}, targets...)
		})
	}
}

// FuzzGrowth looks for bodies whose decoding takes time that grows faster than their length.
func FuzzGrowth(f *testing.F) {
	gob.Register([]any{})
	var bodies [][]byte
	for _, v := range []any{codectest.Sample(), []any{1, "x", []any{2}}, map[string][]entry{"a": {{1}, {}}}} {
		bodies = append(bodies, bodyOf(f, v))
	}
	codectest.FuzzGrowth(f, New(), bodies, new(any), new([]any), new(codectest.Message))
}

// TestUnhashableKey has a slice as the key of a map with interface keys, at
// which package reflect panics.
func TestUnhashableKey(t *testing.T) {
	gob.Register([]string{})
	var m map[any]int
	good := bodyOf(t, map[any]int{"key": 1})
	if err := New().Decode(good, &m); err != nil || m["key"] != 1 {
		t.Fatalf("%v, %v", m, err)
	}
	defs, value := split(t, good)
	sliceDefs, sliceValue := split(t, bodyOf(t, []string{"x"}))
	name := "[]string"
	id, sliceID := idOf(value), idOf(sliceValue)
	key := bytes.Join([][]byte{{byte(len(name))}, []byte(name), sliceID, message(sliceValue[len(sliceID):])}, nil)
	bad := append(append(append([]byte{}, defs...), sliceDefs...), message(id, []byte{0, 1}, key, []byte{2})...)
	if err := New().Decode(bad, &m); err == nil || !strings.Contains(err.Error(), "unhashable") {
		t.Errorf("Decode: %v, want an error about an unhashable key", err)
	}
}

// FuzzDecode has one codec decode all bodies, and a decoder of encoding/gob that
// is used once decode what the scan lets through: the results must be the same,
// so nothing of one body shows in another.
func FuzzDecode(f *testing.F) {
	gob.Register(entry{})
	gob.Register([]any{})
	for _, v := range []any{1, "x", entry{1}, []string{"a"}, map[string][]entry{"a": {{1}, {}}}, [3]complex64{1i},
		struct{ V any }{entry{1}}, struct{ V any }{[]any{entry{1}, []any{entry{2}}}}, list{&list{}}, time.Unix(0, 0)} {
		f.Add(bodyOf(f, v))
	}
	c := New()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, make := range []func() any{
			func() any { return new(struct{ V any }) }, func() any { return new(map[string][]entry) },
			func() any { return new(list) }, func() any { return new([]any) }, func() any { return new(time.Time) },
			func() any { return new(entry) }, func() any { return new([3]complex64) },
		} {
			want := make()
			scanned, err := scan(body, reflect.TypeOf(want), nil)
			if defs, _, contents, ok := cut(body); ok {
				if top, at := topOf(contents); at > 0 {
					types, sound := scannedTypes(defs)
					if sound && check(contents[at:], part{top, types[top]}) && err != nil {
						t.Fatalf("check accepts %x, scan does not: %v", body, err)
					}
				}
			}
			if err == nil {
				plain := scanned.plain()
				again, err := scan(plain, reflect.TypeOf(want), nil)
				if err != nil || !bytes.Equal(again.plain(), plain) {
					t.Fatalf("plain form %x of %x is not plain: %x, %v", plain, body, again.plain(), err)
				}
			}
			if err == nil {
				err = once(scanned.plain(), want)
			}
			for range 2 { // the second time with what was learnt the first time
				got := make()
				switch gotErr := c.Decode(body, got); {
				case (gotErr == nil) != (err == nil):
					t.Fatalf("Decode of %x into a %T: %v, want %v", body, got, gotErr, err)
				case err == nil && !reflect.DeepEqual(got, want) && fmt.Sprint(got) != fmt.Sprint(want): // NaN equals nothing, but has a text
					t.Fatalf("Decode of %x: %+v, want %+v", body, got, want)
				}
			}
		}
	})
}

// once decodes body with a decoder of its own.
func once(body []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return gob.NewDecoder(bytes.NewReader(body)).Decode(v)
}

// scannedTypes returns the types that defs describes.
func scannedTypes(defs []byte) (types descriptions, sound bool) {
	number := []byte{typeInt << 1, 0, 0}
	s, err := scan(appendMessage(bytes.Clone(defs), number), reflect.TypeFor[int](), nil)
	s.types.link()
	return s.types, err == nil
}
