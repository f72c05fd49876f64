package gob

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendUint appends n as scanner.uint reads it.
func appendUint(dst []byte, n uint64) []byte {
	if n < 0x80 {
		return append(dst, byte(n))
	}
	size := (bits.Len64(n) + 7) / 8
	var whole [8]byte
	binary.BigEndian.PutUint64(whole[:], n)
	return append(append(dst, byte(-size)), whole[8-size:]...)
}

// appendInt appends n as scanner.int reads it.
func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendUint(dst, uint64(^n)<<1|1)
	}
	return appendUint(dst, uint64(n)<<1)
}

// insertUint puts n before dst[at:].
func insertUint(dst []byte, at int, n uint64) []byte {
	var room [9]byte
	return slices.Insert(dst, at, appendUint(room[:0], n)...)
}

// appendMessage appends a message with those contents.
func appendMessage(dst, contents []byte) []byte {
	return append(appendUint(dst, uint64(len(contents))), contents...)
}

// uintAt reads the number at b[at:] as scanner.uint does, and returns where it
// ends, or -1 when b does not hold it.
func uintAt(b []byte, at int) (n uint64, end int) {
	if at >= len(b) {
		return 0, -1
	}
	if b[at] < 0x80 {
		return uint64(b[at]), at + 1
	}
	size := 256 - int(b[at])
	end = at + 1 + size
	if size > 8 || end > len(b) {
		return 0, -1
	}
	for _, c := range b[at+1 : end] {
		n = n<<8 | uint64(c)
	}
	return n, end
}

// intAt reads the number at b[at:] as scanner.int does.
func intAt(b []byte, at int) (n int64, end int) {
	u, end := uintAt(b, at)
	if u&1 != 0 {
		return ^int64(u >> 1), end
	}
	return int64(u >> 1), end
}

// pastUint returns where the number at b[at:] ends, or -1.
func pastUint(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	if b[at] < 0x80 {
		return at + 1
	}
	size := 256 - int(b[at])
	if at += 1 + size; size > 8 || at > len(b) {
		return -1
	}
	return at
}
