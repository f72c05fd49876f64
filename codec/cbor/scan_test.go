package cbor_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec/cbor"
	"github.com/weftrpc/weft/codec/codectest"
)

// bignum returns a bignum of n bytes behind the bytes of a tag.
func bignum(tag string, n int) string {
	length := binary.BigEndian.AppendUint32([]byte{0x5a}, uint32(n))
	return tag + string(length) + strings.Repeat("\xff", n)
}

// TestLongBignum has bignums that the library takes seconds to write into the
// text of an error, had it been given them.
func TestLongBignum(t *testing.T) {
	const long = 4 << 20
	pieces := "\xc2\x5f" + strings.Repeat("\x59\x01\x00"+strings.Repeat("\xff", 256), long/256) + "\xff"
	for name, body := range map[string]string{
		"positive":       bignum("\xc2", long),
		"negative":       bignum("\xc3", long),
		"long tag":       bignum("\xdb\x00\x00\x00\x00\x00\x00\x00\x02", long),
		"tag of a tag":   bignum("\xd9\xd9\xf7\xc2", long),
		"in pieces":      pieces,
		"in a list":      "\x83\x01\x61a" + bignum("\xc2", long),
		"in a map":       "\xa2\x63abc\x9f\xf5\xfb12345678\xff\x61a" + bignum("\xc2", long),
		"behind bytes":   "\x82\x44\xc2\x00\x00\x00" + bignum("\xc2", long),
		"a little long":  bignum("\xc2", 1025),
		"beside another": "\x82" + bignum("\xc2", 1024) + bignum("\xc2", 1025),
	} {
		for _, v := range []any{new(string), new(any), new(int), new([]any), new(float32), new(big.Int), new(map[string]any)} {
			if err := cbor.New().Decode([]byte(body), v); err == nil || !strings.Contains(err.Error(), "bignum of more than 1024 bytes at byte") {
				t.Errorf("%s into a %T: %.100v", name, v, err)
			}
		}
	}
	var n big.Int
	if err := cbor.New().Decode([]byte(bignum("\xc2", 1024)), &n); err != nil || n.BitLen() != 8192 {
		t.Errorf("1024 bytes: %v, %d bits", err, n.BitLen())
	}
	// Bytes that look like bignums but are none.
	long1 := strings.Repeat("\xc2", long)
	for _, want := range []any{long1, []byte(long1), []any{true, "x", long1, 1.5}} {
		body, err := cbor.New().Append(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := cbor.New().Decode(body, &got); err != nil && !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%.20v: %v", want, err)
		}
	}
}

func TestOverflow(t *testing.T) {
	for _, test := range []struct {
		sent any
		into []any
	}{
		{int64(5_000_000_000), []any{new(int32), new(uint32), new(int16), new(*int8), new([]int32), new(struct{ A int32 })}},
		{-1, []any{new(uint8), new(uint64), new(uint)}},
		{256, []any{new(uint8), new(int8)}},
		{uint64(1 << 63), []any{new(int64), new(int)}},
		{1e300, []any{new(float32), new(int)}},
		{new(big.Int).Lsh(big.NewInt(1), 64), []any{new(int64), new(uint64), new(int32)}},
	} {
		for _, v := range test.into {
			sent := test.sent
			switch v.(type) {
			case *[]int32:
				sent = []any{sent}
			case *struct{ A int32 }:
				sent = map[string]any{"A": sent}
			}
			body, err := cbor.New().Append(nil, sent)
			if err != nil {
				t.Fatal(err)
			}
			if err := cbor.New().Decode(body, v); err == nil {
				t.Errorf("%v into a %T: no error", test.sent, v)
			}
		}
	}
}

// linked has a field that leads back, which is left out.
type linked struct {
	Next   *linked
	Origin *linked `cbor:"-"`
}

func TestCyclicValues(t *testing.T) {
	ring := &linked{}
	ring.Next = ring
	slice := []any{nil}
	slice[0] = slice
	table := map[string]any{}
	table["self"] = &table
	for _, v := range []any{ring, slice, table} {
		if _, err := cbor.New().Append(nil, v); err == nil || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("Append of a cyclic %T: %v", v, err)
		}
	}
	sound := &linked{Next: &linked{}}
	sound.Origin, sound.Next.Origin = sound, sound
	body, err := cbor.New().Append(nil, sound)
	if err != nil || bytes.Contains(body, []byte("Origin")) {
		t.Errorf("%x, %v", body, err)
	}
}

// wide is a struct that takes much memory for few bytes.
type wide struct {
	Room [128]int64
	Next *wide  `cbor:"n"`
	Few  []wide `cbor:"-"`
	Many []wide `cbor:"7,keyasint"`
	Any  any
	Ints []int
	Row  row
}

type row struct {
	_    struct{} `cbor:",toarray"`
	A    int
	Many []wide
}

// TestRoom has bodies whose elements take much more memory than bytes.
func TestRoom(t *testing.T) {
	list := func(s string, n int) string {
		return string(binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n/len(s)))) + strings.Repeat(s, n/len(s))
	}
	for name, test := range map[string]struct {
		body    string
		v       any
		refused bool
	}{
		"maps in any":       {list("\xa0", 1<<20), new(any), true},
		"numbers in any":    {list("\x01", 1<<20), new(any), false},
		"structs":           {list("\xa0", 1<<17), new([]wide), true},
		"in pieces":         {"\x9f" + strings.Repeat("\xa0", 1<<20) + "\xff", new([]wide), true},
		"ends in pieces":    {"\x9f" + strings.Repeat("\xbf\xff", 1<<20) + "\xff", new([]wide), true},
		"few structs":       {list("\xa0", 1<<14), new([]wide), false},
		"pointers":          {list("\xa0", 1<<20), new([]*wide), true},
		"null structs":      {list("\xf6", 1<<20), new([]wide), true},
		"null pointers":     {list("\xf6", 1<<20), new([]*wide), false},
		"chained pointers":  {list("\xa1\x61n\xa1\x61N\xa0", 1<<20), new([]*wide), true},
		"tagged":            {list("\xc7\xa0", 1<<20), new([]wide), true},
		"number as a key":   {"\xa1\x07" + list("\xa0", 1<<20), new(wide), true},
		"text of the field": {"\xa1\x7f\x61A\x62ny\xff" + list("\xa0", 1<<20), new(wide), true},
		"any field":         {"\xa2\x61x\x01\x63any" + list("\xa0", 1<<20), new(wide), true},
		"unknown field":     {"\xa1\x65other" + list("\xa0", 1<<20), new(wide), false},
		"left out":          {"\xa1\x63Few" + list("\xa0", 1<<20), new(wide), false},
		"small elements":    {"\xa1\x64Ints" + list("\x01", 1<<20), new(wide), false},
		"without names":     {"\xa1\x63Row\x82\x01" + list("\xa0", 1<<20), new(wide), true},
		"bytes":             {"\x5a\x00\x10\x00\x00" + strings.Repeat("\xa0", 1<<20), new([]byte), false},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := cbor.New().Decode(body, test.v)
			runtime.ReadMemStats(&after)
			used := after.TotalAlloc - before.TotalAlloc
			if test.refused != (err != nil && strings.Contains(err.Error(), "bytes of memory")) || test.refused && used > 1<<20 {
				t.Errorf("%v, %d bytes were allocated", err, used)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	for name, piece := range map[string]string{
		"pieces": "\x41\xff", "bignum": "\xff", "same keys": "\x61a\x01", "maps": "\xa0", "tags": "\xc1", "open": "\x9f", "numbers": "\xfb12345678",
	} {
		for _, around := range []string{"%s", "\xc2\x5f%s\xff", "\x9f%s\xff", "\xbf%s\xff", "\xa1\x65Parts\x9f%s\xff"} {
			t.Run(name, func(t *testing.T) {
				body := func(n int) []byte { return fmt.Appendf(nil, around, strings.Repeat(piece, n/len(piece))) }
				codectest.Growth(t, cbor.New(), 16<<10, body, new(any), new(big.Int), new(codectest.Message))
			})
		}
	}
	codectest.Growth(t, cbor.New(), 64<<10, func(n int) []byte { return []byte(bignum("\xc2", n)) }, new(string), new(any), new(int), new(float64))
	codectest.Growth(t, cbor.New(), 64<<10, func(n int) []byte {
		return []byte("\xc0\x7a" + string(binary.BigEndian.AppendUint32(nil, uint32(n))) + strings.Repeat("1", n))
	}, new(string), new(any), new(time.Time))
}

// FuzzGrowth looks for bodies whose decoding takes time that grows faster than their length.
func FuzzGrowth(f *testing.F) {
	var bodies [][]byte
	for _, v := range []any{codectest.Sample(), []any{1, nil, map[string]any{"a": 1.5}}} {
		body, err := cbor.New().Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	codectest.FuzzGrowth(f, cbor.New(), bodies, new(any), new(codectest.Message))
}
