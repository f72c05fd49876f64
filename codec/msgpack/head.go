package msgpack

import "encoding/binary"

// form is what kind of value a first byte begins.
type form uint8

const (
	invalid form = iota // byte 0xc1, which begins no value
	short               // the body ends within the head
	null
	boolean
	unsigned
	signed
	float32bits
	float64bits
	text
	binaryText // a byte string
	list
	table
	extension
	fixedExtension // becomes an extension, see head
)

// forms has the form of each first byte from 0xc0 to 0xdf, and widths how many
// bytes of a number or of a length follow it.
const (
	forms = string(rune(null)) + string(rune(invalid)) + string(rune(boolean)) + string(rune(boolean)) +
		string(rune(binaryText)) + string(rune(binaryText)) + string(rune(binaryText)) +
		string(rune(extension)) + string(rune(extension)) + string(rune(extension)) +
		string(rune(float32bits)) + string(rune(float64bits)) +
		string(rune(unsigned)) + string(rune(unsigned)) + string(rune(unsigned)) + string(rune(unsigned)) +
		string(rune(signed)) + string(rune(signed)) + string(rune(signed)) + string(rune(signed)) +
		string(rune(fixedExtension)) + string(rune(fixedExtension)) + string(rune(fixedExtension)) +
		string(rune(fixedExtension)) + string(rune(fixedExtension)) +
		string(rune(text)) + string(rune(text)) + string(rune(text)) +
		string(rune(list)) + string(rune(list)) + string(rune(table)) + string(rune(table))
	widths = "\x00\x00\x00\x00\x01\x02\x04\x01\x02\x04\x04\x08\x01\x02\x04\x08" +
		"\x01\x02\x04\x08\x00\x00\x00\x00\x00\x01\x02\x04\x02\x04\x02\x04"
)

// head reads the head of the value at b[i]: its form, the number in it (the
// value, or how many bytes, elements or entries follow), and where the rest of
// the value begins. A signed number is sign-extended, a bool is 0 or 1.
func head(b []byte, i int) (f form, n uint64, next int) {
	if uint(i) >= uint(len(b)) {
		return short, 0, i
	}
	c := b[i]
	i++
	switch {
	case c < 0x80:
		return unsigned, uint64(c), i
	case c < 0x90:
		return table, uint64(c & 0x0f), i
	case c < 0xa0:
		return list, uint64(c & 0x0f), i
	case c < 0xc0:
		return text, uint64(c & 0x1f), i
	case c >= 0xe0:
		return signed, uint64(int64(int8(c))), i
	}
	f = form(forms[c-0xc0])
	width := int(widths[c-0xc0])
	if width > len(b)-i {
		return short, 0, i
	}
	switch width {
	case 1:
		n = uint64(b[i])
	case 2:
		n = uint64(binary.BigEndian.Uint16(b[i:]))
	case 4:
		n = uint64(binary.BigEndian.Uint32(b[i:]))
	case 8:
		n = binary.BigEndian.Uint64(b[i:])
	}
	switch f {
	case signed:
		unused := 64 - 8*width
		n = uint64(int64(n<<unused) >> unused)
	case boolean:
		n = uint64(c & 1)
	case fixedExtension:
		return extension, 1 << (c - 0xd4), i
	}
	return f, n, i + width
}

// String names the form in messages.
func (f form) String() string {
	switch f {
	case null:
		return "nil"
	case boolean:
		return "a boolean"
	case unsigned, signed:
		return "an integer"
	case float32bits, float64bits:
		return "a float"
	case text:
		return "a string"
	case binaryText:
		return "a byte string"
	case list:
		return "an array"
	case table:
		return "a map"
	case extension:
		return "an extension"
	}
	return "no value"
}
