package protocol

import "encoding/binary"

// These functions go past values that have come as a whole, of which most messages have no others. They stop before what is not usual, and leave
// it to a Scanner: that goes on in a value that has come in part, and tells what is wrong with it.

// nested is how many structs and containers may stand in one another in what they go past.
const nested = 16

// wholeStruct returns how many bytes the struct has with which b begins; 0: a Scanner has to find out.
func wholeStruct(b []byte, form Form) (size int) {
	switch form {
	case JSON:
		return 0
	case Compact:
		size = pastCompact(b, 0, Struct, nested)
	default:
		size = pastBinary(b, 0, Struct, nested)
	}
	if size > len(b) {
		return 0
	}
	return max(size, 0)
}

// fieldsCompact goes past fields of the compact protocol from at on, up to one that has not come as a whole, or in which more than nested structs
// and containers stand in one another. It returns where it has come to.
func fieldsCompact(b []byte, at, nested int) int {
	for i := at; i < len(b); at = i {
		c := b[i]
		if c == 0 {
			return at
		}
		i++
		if c>>4 == 0 { // the number of the field stands apart
			if i = pastCompact(b, i, I16, 0); i < 0 || i > len(b) {
				return at
			}
		}
		if t := typeOfCompact(c); t != Bool {
			i = pastCompact(b, i, t, nested)
		}
		if i < 0 || i > len(b) {
			return at
		}
	}
	return at
}

// pastCompact returns where a value ends that begins at i, which is below zero or beyond b if it has not come as a whole.
func pastCompact(b []byte, i int, t Type, nested int) int {
	switch t {
	case Bool, I8:
		return i + 1
	case I16, I32, I64:
		from := i
		for i < len(b) && b[i] >= 0x80 {
			i++
		}
		if i++; i-from >= binary.MaxVarintLen64 && (i-from > binary.MaxVarintLen64 || i > len(b) || b[i-1] > 1) {
			return -1 // it is no number of 64 bits, or has not come as a whole
		}
		return i
	case Double:
		return i + 8
	case UUID:
		return i + 16
	case String:
		n, i := lengthCompact(b, i)
		return i + n
	}
	if nested--; nested < 0 {
		return -1
	}
	switch t {
	case Struct:
		if i = fieldsCompact(b, i, nested); i < len(b) && b[i] == 0 {
			return i + 1
		}
	case Set, List:
		if i < len(b) {
			elem, n := typeOfCompact(b[i]), int(b[i]>>4)
			if i++; n == 15 {
				n, i = lengthCompact(b, i)
			}
			for ; n > 0 && i >= 0 && i < len(b); n-- {
				i = pastCompact(b, i, elem, nested)
			}
			if n == 0 {
				return i
			}
		}
	case Map:
		if n, i := lengthCompact(b, i); n > 0 && i < len(b) {
			key, value := typeOfCompact(b[i]>>4), typeOfCompact(b[i])
			for i++; n > 0 && i >= 0 && i < len(b); n-- {
				if i = pastCompact(b, i, key, nested); i >= 0 {
					i = pastCompact(b, i, value, nested)
				}
			}
			if n == 0 {
				return i
			}
		} else if n == 0 {
			return i
		}
	}
	return -1
}

// lengthCompact reads a length or a count of at most len(b), and returns where it ends; a place beyond b if it is none or has not come as a whole.
func lengthCompact(b []byte, i int) (n, end int) {
	if i < len(b) && b[i] < 0x80 {
		return int(b[i]), i + 1
	}
	if i < len(b) {
		if v, k := binary.Uvarint(b[i:]); k > 0 && v <= uint64(len(b)) {
			return int(v), i + k
		}
	}
	return 1, len(b) + 1
}

// fieldsBinary is fieldsCompact of the binary protocol.
func fieldsBinary(b []byte, at, nested int) int {
	for i := at; i < len(b) && b[i] != 0; at = i {
		i = pastBinary(b, i+3, Type(b[i]), nested)
		if i < 0 || i > len(b) {
			return at
		}
	}
	return at
}

// pastBinary is pastCompact of the binary protocol.
func pastBinary(b []byte, i int, t Type, nested int) int {
	switch t {
	case Bool, I8:
		return i + 1
	case I16:
		return i + 2
	case I32:
		return i + 4
	case I64, Double:
		return i + 8
	case UUID:
		return i + 16
	case String:
		n, i := lengthBinary(b, i)
		return i + n
	}
	if nested--; nested < 0 {
		return -1
	}
	switch t {
	case Struct:
		if i = fieldsBinary(b, i, nested); i < len(b) && b[i] == 0 {
			return i + 1
		}
	case Set, List:
		if i < len(b) {
			elem := Type(b[i])
			n, i := lengthBinary(b, i+1)
			if size := fixed(false, elem); size > 0 && n <= len(b)/size {
				return i + n*size
			}
			for ; n > 0 && i >= 0 && i < len(b); n-- {
				i = pastBinary(b, i, elem, nested)
			}
			if n == 0 {
				return i
			}
		}
	case Map:
		if i+1 < len(b) {
			key, value := Type(b[i]), Type(b[i+1])
			n, i := lengthBinary(b, i+2)
			for ; n > 0 && i >= 0 && i < len(b); n-- {
				if i = pastBinary(b, i, key, nested); i >= 0 {
					i = pastBinary(b, i, value, nested)
				}
			}
			if n == 0 {
				return i
			}
		}
	}
	return -1
}

// lengthBinary is lengthCompact of the binary protocol.
func lengthBinary(b []byte, i int) (n, end int) {
	if i+4 <= len(b) {
		if v := binary.BigEndian.Uint32(b[i:]); v <= uint32(len(b)) {
			return int(v), i + 4
		}
	}
	return 1, len(b) + 1
}
