//go:build unix

package adversary

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/wire"
)

// bombSize is how long bodies may be.
const bombSize = 4<<20 - 64

// bombs are bodies that cost their receiver more than their sender: one attack for each codec and
// each compressor.
func bombs() map[string]attacker {
	all := make(map[string]attacker)
	for codec, bodies := range codecBombs() {
		name := "Adv.Decode"
		if codec == "protobuf" {
			name = "Adv.Proto"
		}
		all["bombs of "+codec] = throw(method{codec, name}, 0, bodies)
		if codec == "json" {
			all["bombs of json in streams"] = throw(method{codec, "Adv.Take"}, wire.FlagStream, bodies)
		}
	}
	for place, c := range compressors() {
		all["bombs of "+c.Name()] = func(ctx context.Context, address string) {
			bodies := [][]byte{bomb(c, place, 4<<20), bomb(c, place, 8<<20)}
			throw(method{"raw", "Adv.Echo"}, wire.FlagCompressed, bodies)(ctx, address)
		}
	}
	return all
}

// bomb is zeros as the compressor at a place of the list makes them, cut to the size that a message may have.
func bomb(c compress.Compressor, place, size int) []byte {
	b, err := c.Compress([]byte{byte(place)}, make([]byte, size))
	if err != nil {
		panic(err) // zeros can be compressed
	}
	return b[:min(len(b), bombSize)]
}

// throw sends the bodies, some at once, and reads what comes back. With FlagStream each is the message of a stream.
func throw(m method, flags wire.Flags, bodies [][]byte) attacker {
	return func(ctx context.Context, address string) {
		again(ctx, address, func(_ *rand.Rand, r *wired) {
			answered := make(chan int, 1024)
			go r.countReplies(answered) // it ends with the connection
			for open := 0; ctx.Err() == nil; {
				for _, b := range bodies {
					id := wire.ID(r.next%16384, uint16(r.next/16384))
					if flags&wire.FlagStream != 0 {
						r.request(0, flags, nil)
						r.message(wire.Header{Type: wire.TypeData, ID: id}, b)
					} else {
						r.request(0, flags, b)
					}
					if open++; r.send() != nil {
						return
					}
				}
				for open > 8 {
					select {
					case n, ok := <-answered:
						if !ok {
							return
						}
						open -= n
					case <-time.After(time.Minute):
						return
					}
				}
			}
		}, m)
	}
}

func codecBombs() map[string][][]byte {
	fill := func(before, each, after string) []byte {
		n := (bombSize - len(before) - len(after)) / len(each)
		return []byte(before + strings.Repeat(each, n) + after)
	}
	u32 := func(prefix string, n uint32) string { return prefix + string(binary.BigEndian.AppendUint32(nil, n)) }
	return map[string][][]byte{
		"json": {
			fill(`{"Items":[{}`, `,{}`, `]}`),
			fill(`{"Items":[null`, `,null`, `]}`),
			fill(`{"Any":`, `[`, ``),
			fill(`{"Any":[{}`, `,{}`, `]}`),
			fill(`{"Any":1`, `0`, `}`),
			fill(`{"Text":"`, `\u0000`, `"}`),
			fill(`{"Map":{"a":{}`, `,"a":{}`, `}}`),
		},
		"msgpack": {
			append([]byte(u32("\x81\xa5Items\xdd", bombSize-64)), bytes.Repeat([]byte{0x80}, bombSize-64)...),
			append([]byte(u32("\x81\xa3Any\xdd", bombSize-64)), bytes.Repeat([]byte{0x80}, bombSize-64)...),
			append([]byte(u32("\x81\xa5Items\xdd", bombSize-64)), bytes.Repeat([]byte{0xc0}, bombSize-64)...),
			[]byte(u32("\x81\xa5Items\xdd", 1<<32-1)),
			[]byte(u32("\x81\xa4Text\xdb", 1<<32-1)),
			append([]byte("\x81\xa3Any"), bytes.Repeat([]byte{0x91}, bombSize)...),
		},
		"cbor": {
			append([]byte(u32("\xa1\x65Items\x9a", bombSize-64)), bytes.Repeat([]byte{0xa0}, bombSize-64)...),
			append([]byte(u32("\xa1\x65Items\x9a", bombSize-64)), bytes.Repeat([]byte{0xf6}, bombSize-64)...),
			append([]byte(u32("\xa1\x63Any\xc2\x5a", bombSize-64)), bytes.Repeat([]byte{0xff}, bombSize-64)...),
			append([]byte(u32("\xa1\x64Text\xc2\x5a", bombSize-64)), bytes.Repeat([]byte{0xff}, bombSize-64)...),
			append([]byte("\xa1\x63Any"), bytes.Repeat([]byte{0x9f}, bombSize)...),
			[]byte("\xa1\x65Items\x9b\xff\xff\xff\xff\xff\xff\xff\xff"),
		},
		"gob": {
			append([]byte{0xf8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, make([]byte, 1000)...),
			bytes.Repeat([]byte{3, 0xff, 0x81, 0}, bombSize/4),
			bytes.Repeat([]byte{1, 0}, bombSize/2),
		},
		"protobuf": {
			bytes.Repeat([]byte{0x32, 0x00}, bombSize/2),                                                  // lists, one after the other
			append([]byte{0x32, 0xf0, 0xff, 0xff, 0x01}, bytes.Repeat([]byte{0x0a, 0x00}, bombSize/2)...), // one list of empty values
			nestedLists(5000),
		},
	}
}

// nestedLists is a list in a list and so on, as google.protobuf.Value has them.
func nestedLists(depth int) []byte {
	var b []byte
	for range depth {
		list := append([]byte{0x0a}, binary.AppendUvarint(nil, uint64(len(b)))...)
		list = append(list, b...)
		b = append(append([]byte{0x32}, binary.AppendUvarint(nil, uint64(len(list)))...), list...)
	}
	return b
}
