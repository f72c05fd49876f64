package msgpack

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weftrpc/weft/codec"
)

var errShort = errors.New("body ends within a value")

// scan reports what is wrong with body as an encoding of exactly one value. It
// does not recurse and allocates nothing unless it fails.
func scan(body []byte) error { return scanTo(body, codec.MaxDepth) }

// scanTo is scan for a value in which at most depth containers are in one another.
func scanTo(body []byte, depth int) error {
	var all [codec.MaxDepth]int
	left := all[:depth] // how many values are to come, by nesting
	depth = 0
	for at := 0; ; {
		size, children, err := header(body[at:])
		if err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		at += size
		if children != scalar {
			if depth == len(left) {
				return fmt.Errorf("at byte %d: nesting deeper than %d", at, codec.MaxDepth)
			}
			left[depth] = children + 1 // itself ends where its last child does
			depth++
		}
		for depth > 0 {
			if left[depth-1]--; left[depth-1] > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			if at < len(body) {
				return fmt.Errorf("%d bytes behind the value", len(body)-at)
			}
			return nil
		}
	}
}

// scalar stands for the number of children of a value that cannot have any.
const scalar = -1

// header reads the beginning of a value: how many bytes it has before its
// children, and how many children, two for each entry of a map. That many
// children fit in b.
func header(b []byte) (size, children int, err error) {
	if len(b) == 0 {
		return 0, 0, errShort
	}
	switch c := b[0]; {
	case c < 0x80, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3: // small numbers, nil, booleans
		return 1, scalar, nil
	case c < 0x90:
		return counted(b, 1, 2*uint64(c&0x0f))
	case c < 0xa0:
		return counted(b, 1, uint64(c&0x0f))
	case c < 0xc0:
		return sized(b, 1, uint64(c&0x1f))
	case c == 0xc1:
		return 0, 0, errors.New("byte 0xc1 begins no value")
	case c <= 0xc6: // byte strings
		return sizedBy(b, 1<<(c-0xc4), 0)
	case c <= 0xc9: // extensions, with a type of one byte
		return sizedBy(b, 1<<(c-0xc7), 1)
	case c <= 0xcb: // floats
		return sized(b, 1, 4<<(c-0xca))
	case c <= 0xcf: // unsigned numbers
		return sized(b, 1, 1<<(c-0xcc))
	case c <= 0xd3: // signed numbers
		return sized(b, 1, 1<<(c-0xd0))
	case c <= 0xd8: // extensions of fixed length
		return sized(b, 2, 1<<(c-0xd4))
	case c <= 0xdb: // strings
		return sizedBy(b, 1<<(c-0xd9), 0)
	case c <= 0xdd:
		n, head := length(b, 2<<(c-0xdc))
		return counted(b, head, n)
	default:
		n, head := length(b, 2<<(c-0xde))
		return counted(b, head, 2*n)
	}
}

// length reads a length of width bytes behind the first byte, and how many
// bytes there are up to its end.
func length(b []byte, width int) (n uint64, head int) {
	var whole [8]byte
	if len(b) > width {
		copy(whole[8-width:], b[1:1+width])
	}
	return binary.BigEndian.Uint64(whole[:]), 1 + width
}

// sizedBy is for values whose length stands in width bytes behind the first
// one, before further bytes that it does not count.
func sizedBy(b []byte, width, more int) (size, children int, err error) {
	n, head := length(b, width)
	return sized(b, head+more, n)
}

func sized(b []byte, head int, n uint64) (size, children int, err error) {
	if len(b) < head || n > uint64(len(b)-head) {
		return 0, 0, errShort
	}
	return head + int(n), scalar, nil
}

func counted(b []byte, head int, n uint64) (size, children int, err error) {
	if len(b) < head {
		return 0, 0, errShort
	}
	if left := uint64(len(b) - head); n > left { // each child has at least a byte
		return 0, 0, fmt.Errorf("%d elements claimed, %d bytes are left", n, left)
	}
	return head, int(n), nil
}
