package msgpack_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/msgpack"
)

// TestGrowth has bodies with much of what takes time, in lists, maps, texts and extensions that claim their length rightly.
func TestGrowth(t *testing.T) {
	targets := []any{new(any), new(codectest.Message), new([]any), new(map[string]any), new([]string), new(time.Time), new([]time.Time), new([]codectest.Part)}
	claims := func(head string, n int) string { return head + string(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	for name, piece := range map[string]string{
		"nil": "\xc0", "numbers": "\xcb12345678", "texts": "\xa1x", "maps": "\x80", "same keys": "\xa1x\x01", "lists": "\x91\x90", "open": "\x91",
		"fields": "\xa6Field1\xa1x", "extensions": "\xd4\x01x", "times": "\xd6\xff1234", "parts": "\x81\xa3Ids\x90", "bytes": "\xc4\x01x",
	} {
		t.Run(name, func(t *testing.T) {
			for _, around := range []struct {
				head string
				each int // bytes or pieces in one that is counted
			}{{"", 0}, {"\xdd", len(piece)}, {"\xdf", len(piece)}, {"\xdf", 2 * len(piece)}, {"\xdb", 1}, {"\xc6", 1}, {"\xc9", 1}, {"\x81\xa5Parts\xdd", len(piece)}} {
				codectest.Growth(t, msgpack.New(), 8<<10, func(n int) []byte {
					pieces := strings.Repeat(piece, n/len(piece)&^1)
					if around.each == 0 {
						return []byte(pieces)
					}
					head := claims(around.head, len(pieces)/around.each)
					if around.head == "\xc9" {
						head += "\xff" // the kind of the extension
					}
					return []byte(head + pieces)
				}, targets...)
			}
		})
	}
}

// FuzzGrowth looks for bodies whose decoding takes time that grows faster than their length.
func FuzzGrowth(f *testing.F) {
	var bodies [][]byte
	for _, v := range []any{codectest.Sample(), []any{1, nil, map[string]any{"a": 1.5}, time.Unix(1, 1)}} {
		body, err := msgpack.New().Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	codectest.FuzzGrowth(f, msgpack.New(), bodies, new(any), new(codectest.Message))
}
