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
