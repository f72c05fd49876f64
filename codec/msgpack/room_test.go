package msgpack_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
)

// wide is a struct that takes much memory for few bytes.
type wide struct {
	Room [128]int64
	Next *wide `msgpack:"n"`
	Ints []int
	Many []wide
	Any  any
	Few  []wide `msgpack:"-"`
}

// Inner is embedded, and its fields belong to the struct around it.
type Inner struct{ Inside []wide }

type outer struct{ Inner }

// Far is embedded by a pointer.
type Far struct {
	Room [128]int64
	A    int8
}

type through struct {
	*Far
	B int8
}

type point struct{ X, Y int8 }

// Bodies whose elements take much more memory than bytes are refused before the memory is taken; others are not.
func TestRoom(t *testing.T) {
	list := func(s string, n int) string {
		return string(binary.BigEndian.AppendUint32([]byte{0xdd}, uint32(n/len(s)))) + strings.Repeat(s, n/len(s))
	}
	table := func(s string, n int) string {
		return string(binary.BigEndian.AppendUint32([]byte{0xdf}, uint32(n/len(s)))) + strings.Repeat(s, n/len(s))
	}
	for name, test := range map[string]struct {
		body    string
		v       any
		refused bool
	}{
		"maps in any":       {list("\x80", 4<<20), new(any), true},
		"small maps in any": {list("\x81\xa1a\x01", 4<<20), new(any), true},
		"some maps in any":  {list("\x81\xa1a\x01", 256<<10), new(any), false},
		"lists in any":      {list("\x90", 1<<20), new(any), false},
		"numbers in any":    {list("\x01", 1<<20), new(any), false},
		"nil in any":        {list("\xc0", 1<<20), new(any), false},
		"structs":           {list("\x80", 1<<17), new([]wide), true},
		"nil structs":       {list("\xc0", 1<<17), new([]wide), true},
		"few structs":       {list("\x80", 1<<14), new([]wide), false},
		"pointers":          {list("\x80", 1<<20), new([]*wide), true},
		"nil pointers":      {list("\xc0", 1<<20), new([]*wide), false},
		"chained pointers":  {list("\x81\xa1n\x81\xa1n\x80", 1<<20), new([]*wide), true},
		"field":             {"\x81\xa4Many" + list("\x80", 1<<17), new(wide), true},
		"embedded field":    {"\x81\xa6Inside" + list("\x80", 1<<17), new(outer), true},
		"embedded pointers": {list("\x81\xa1A\x01", 1<<20), new([]through), true},
		"no such pointers":  {list("\x81\xa1B\x01", 1<<20), new([]through), false},
		"nil behind those":  {list("\x81\xa1A\xc0", 1<<17), new([]through), false},
		"any field":         {"\x82\xa1x\x01\xa3Any" + list("\x80", 4<<20), new(wide), true},
		"unknown field":     {"\x81\xa5other" + list("\x80", 4<<20), new(wide), false},
		"left out":          {"\x81\xa3Few" + list("\x80", 4<<20), new(wide), false},
		"small elements":    {"\x81\xa4Ints" + list("\x01", 4<<20), new(wide), false},
		"map of structs":    {table("\xa1a\x80", 1<<20), new(map[string]wide), true},
		"common map":        {table("\xa1a\x01", 4<<20), new(map[string]any), false},
		"map with keys":     {table("\x82\xa1X\x01\xa1Y\x02\x01", 1<<20), new(map[point]bool), false},
		"maps":              {list("\x80", 4<<20), new([]map[string]int), true},
		"maps in maps":      {list("\x81\xa1a\x80", 4<<20), new([]map[string]map[string]int), true},
		"bytes":             {"\xc6\x00\x40\x00\x00" + strings.Repeat("\x80", 4<<20), new([]byte), false},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := msgpack.New().Decode(body, test.v)
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			switch {
			case test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")):
				t.Errorf("%v, %d bytes were allocated", err, used)
			case test.refused && used > 2<<20+8*uint64(len(body)):
				t.Errorf("%d bytes were allocated for %d before they were refused", used, len(body))
			}
		})
	}
}

// A list that ends within its elements is refused before there is memory for those that it claims.
func TestRoomForWhatDoesNotCome(t *testing.T) {
	body := append(binary.BigEndian.AppendUint32([]byte{0xdf}, 1<<20), "\xc1"+strings.Repeat("\x01", 4<<20)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := msgpack.New().Decode(body, new(any))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 2<<20 {
		t.Errorf("%v, %d bytes were allocated", err, used)
	}
}

// Memory that is used again is bounded as well.
func TestRoomOfReuse(t *testing.T) {
	structs := append(binary.BigEndian.AppendUint32([]byte{0xdd}, 1<<18), strings.Repeat("\x80", 1<<18)...)
	entries := binary.BigEndian.AppendUint32([]byte{0xdf}, 1<<17)
	for i := range 1 << 17 {
		entries = append(binary.BigEndian.AppendUint32(append(entries, 0xce), uint32(i)), 0x80)
	}
	for name, test := range map[string]struct {
		body []byte
		v    any
	}{
		"a list":     {structs, new([]wide)},
		"a new map":  {entries, new(map[uint32]wide)},
		"a used map": {entries, &map[uint32]wide{1: {}}},
	} {
		if err := msgpack.New().(codec.Reuser).DecodeReuse(test.body, test.v); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("%s was decoded, %v", name, err)
		}
	}
}
