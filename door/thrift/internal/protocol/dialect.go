package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Framing is what stands before each message.
type Framing uint8

// The framings.
const (
	Unframed Framing = iota // nothing
	Framed                  // its length
	Headers                 // its length, and the header of THeader
)

// Dialect is a form with a framing. The form of Headers is told in the header.
type Dialect struct {
	Framing Framing
	Form    Form
}

// Verdict is what bytes say about the dialect of a message that begins with them.
type Verdict uint8

// The verdicts.
const (
	No   Verdict = iota // they begin no message
	More                // more bytes are needed
	Yes
)

// maxOld is how many bytes the name of a method may have in a message of the old form, which has no
// mark to know it by.
const maxOld = 255

// Sniff tells the dialect of a message by its first bytes; eight are enough for all but the old
// form. A frame may have up to most bytes.
func Sniff(b []byte, most int) (Dialect, Verdict) {
	if len(b) == 0 {
		return Dialect{}, More
	}
	switch b[0] {
	case 0x80:
		return sure(b, Dialect{Unframed, Binary}, func() bool { return b[1] == 1 })
	case 0x82:
		return sure(b, Dialect{Unframed, Compact}, func() bool { return b[1]&0x1f == 1 })
	case '[':
		return text(b, Dialect{Unframed, JSON})
	}
	if most>>24 < int(b[0]) {
		return Dialect{}, No
	}
	if len(b) < 4 {
		return Dialect{}, More
	}
	n := int64(binary.BigEndian.Uint32(b))
	rest := b[4:]
	if len(rest) == 0 {
		return Dialect{}, More
	}
	switch rest[0] {
	case 0x80:
		return framed(n, most, rest, Dialect{Framed, Binary}, func() bool { return rest[1] == 1 })
	case 0x82:
		return framed(n, most, rest, Dialect{Framed, Compact}, func() bool { return rest[1]&0x1f == 1 })
	case '[':
		if d := (Dialect{Framed, JSON}); n >= 4 && n <= int64(most) {
			return text(rest, d)
		}
		return Dialect{}, No
	case 0x0f:
		return framed(n, most, rest, Dialect{Headers, Binary}, func() bool { return rest[1] == 0xff })
	case 0:
		d := Dialect{Framed, Old}
		if len(rest) < 4 {
			return d, More
		}
		m := int64(binary.BigEndian.Uint32(rest))
		if m > maxOld || m > n-9 || n > int64(most) {
			return d, No
		}
		return d, old(rest[4:], int(m))
	}
	if n > maxOld || n == 0 {
		return Dialect{}, No
	}
	return Dialect{Unframed, Old}, old(rest, int(n))
}

// text looks at the beginning of a message of the JSON protocol. A batch of JSON-RPC begins with an object in its place.
func text(b []byte, d Dialect) (Dialect, Verdict) {
	const begins = `[1,"`
	switch n := min(len(b), len(begins)); {
	case string(b[:n]) != begins[:n]:
		return d, No
	case n < len(begins):
		return d, More
	}
	return d, Yes
}

func sure(b []byte, d Dialect, ok func() bool) (Dialect, Verdict) {
	switch {
	case len(b) < 2:
		return d, More
	case ok():
		return d, Yes
	}
	return d, No
}

func framed(n int64, most int, rest []byte, d Dialect, ok func() bool) (Dialect, Verdict) {
	if n < 4 || n > int64(most) {
		return d, No
	}
	return sure(rest, d, ok)
}

// old looks at a name and the kind behind it. Of a long name the first bytes decide.
func old(b []byte, m int) Verdict {
	const enough = 16
	for i, c := range b {
		switch {
		case i == m:
			if c == byte(Call) || c == byte(Oneway) {
				return Yes
			}
			return No
		case i == enough:
			return Yes
		case c <= ' ' || c > '~':
			return No
		}
	}
	return More
}

// Single finds the dialect of a body, which is one message without a THeader.
func Single(body []byte) (d Dialect, message []byte, err error) {
	d, v := Sniff(body, 1<<30)
	switch {
	case v != Yes || d.Framing == Headers:
		return d, nil, fmt.Errorf("thrift: the body begins with %q: expected a message in the binary, compact or JSON protocol", body[:min(len(body), 8)])
	case d.Framing == Framed && FrameSize(body) != len(body)-4:
		return d, nil, fmt.Errorf("thrift: the frame has %d bytes and the body %d behind its length: expected one message", FrameSize(body), len(body)-4)
	case d.Framing == Framed:
		return d, body[4:], nil
	}
	return d, body, nil
}

// Envelope is how many bytes a message may have around its struct.
const Envelope = MaxName + 1<<10

// FrameSize is the length of a frame, of which at least its first four bytes have come.
func FrameSize(b []byte) int { return int(min(binary.BigEndian.Uint32(b), math.MaxInt32)) }
