// Package gencode holds the messages as structs of plain fields, with methods of
// the shape that the gencode generator gives them. That generator is not used:
// bench/idl/generate writes the same format.
//
// A body that ends too early makes Unmarshal panic with an index out of range,
// as with gencode; weft's codec for it makes an error of that.
package gencode

import "encoding/binary"

func sizeOfLength(n int) uint64 {
	size := uint64(1)
	for n >= 0x80 {
		n >>= 7
		size++
	}
	return size
}

// putLength writes a length as a varint at i, and returns where it ends.
func putLength(buf []byte, i uint64, n int) uint64 {
	for n >= 0x80 {
		buf[i] = byte(n) | 0x80
		n >>= 7
		i++
	}
	buf[i] = byte(n)
	return i + 1
}

// lengthAt reads a length at i, and returns where it ends.
func lengthAt(buf []byte, i uint64) (n, end uint64) {
	for shift := 0; ; shift += 7 {
		n |= uint64(buf[i]&0x7f) << shift
		i++
		if buf[i-1] < 0x80 {
			return n, i
		}
	}
}

func sizeOfString(s string) uint64 { return sizeOfLength(len(s)) + uint64(len(s)) }

func putString(buf []byte, i uint64, s string) uint64 {
	i = putLength(buf, i, len(s))
	return i + uint64(copy(buf[i:], s))
}

func stringAt(buf []byte, i uint64) (s string, end uint64) {
	n, i := lengthAt(buf, i)
	return string(buf[i : i+n]), i + n
}

const numberSize = 8

func sizeOfNumbers(list []uint64) uint64 {
	return sizeOfLength(len(list)) + numberSize*uint64(len(list))
}

func putNumbers(buf []byte, i uint64, list []uint64) uint64 {
	i = putLength(buf, i, len(list))
	for _, v := range list {
		binary.LittleEndian.PutUint64(buf[i:], v)
		i += numberSize
	}
	return i
}

// numbersAt reads a list into the memory of reuse, if that is enough; an empty one
// is nil. The list is cut out of buf before memory is made for it, so a length
// cannot claim more than there is.
func numbersAt(buf []byte, i uint64, reuse []uint64) (list []uint64, end uint64) {
	n, i := lengthAt(buf, i)
	if n == 0 {
		return nil, i
	}
	if n > uint64(len(buf))/numberSize {
		n = uint64(len(buf)) // so that the next line fails, whatever was claimed
	}
	body := buf[i : i+numberSize*n]
	list = reuse[:0]
	for ; len(body) > 0; body = body[numberSize:] {
		list = append(list, binary.LittleEndian.Uint64(body))
	}
	return list, i + numberSize*n
}
