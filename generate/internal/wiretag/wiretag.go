// Package wiretag reads the struct tags of fields, and writes the Go expressions with which generated code writes and finds the tag of a field
// of Protocol Buffers.
package wiretag

import (
	"fmt"
	"strings"
)

// Tag is the tag of a field, as it is encoded.
type Tag []byte

// New returns the tag of the field with a number, whose values have a wire type.
func New(number int, wire uint64) Tag {
	var t Tag
	v := uint64(number)<<3 | wire
	for ; v >= 0x80; v >>= 7 {
		t = append(t, byte(v)|0x80)
	}
	return append(t, byte(v))
}

// Bytes lists the bytes of the tag.
func (t Tag) Bytes() string {
	var b strings.Builder
	for i, c := range t {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%#02x", c)
	}
	return b.String()
}

// Word is the tag as a number that has the same bytes in memory.
func (t Tag) Word() string {
	v := uint64(0)
	for i, c := range t {
		v |= uint64(c) << (8 * i)
	}
	return fmt.Sprintf("%#x", v)
}

// At is the condition that the tag is at b[i], and more behind it.
func (t Tag) At() string {
	var b strings.Builder
	fmt.Fprintf(&b, "len(b)-i > %d", len(t))
	for i, c := range t {
		if i == 0 {
			fmt.Fprintf(&b, " && b[i] == %#02x", c)
		} else {
			fmt.Fprintf(&b, " && b[i+%d] == %#02x", i, c)
		}
	}
	return b.String()
}

// In is the condition that the tag is at the beginning of the word x.
func (t Tag) In(x string) string {
	switch len(t) {
	case 1, 2, 4:
		x = fmt.Sprintf("uint%d(%s)", 8*len(t), x)
	case 3:
		x = fmt.Sprintf("uint32(%s)&0xffffff", x)
	default:
		x = fmt.Sprintf("%s&%#x", x, uint64(1)<<(8*len(t))-1)
	}
	return x + " == " + t.Word()
}

// Store writes the bytes of t at a slice, the last of them increased by what a variable holds.
func (t Tag) Store(at string, last ...string) string {
	size := 64
	switch {
	case len(t) <= 2:
		size = 16
	case len(t) <= 4:
		size = 32
	}
	word := t.Word()
	for _, v := range last {
		word += fmt.Sprintf("|uint%d(%s)<<%d", size, v, 8*(len(t)-1))
	}
	return fmt.Sprintf("binary.LittleEndian.PutUint%d(%s, %s)", size, at, word)
}
