package msgpack

import (
	"encoding/binary"
	"math"
	"time"
)

// The functions here write a value, or the head of one, into b at i, where there
// is room for it, and return where it ends.

// maxHead is the longest head of a string, an array, a map or an extension.
const maxHead = 6

func putInt(b []byte, i int, v int64) int {
	switch {
	case v >= 0:
		return putUint(b, i, uint64(v))
	case v >= -32:
		b[i] = byte(v)
		return i + 1
	case v >= math.MinInt8:
		b[i+1], b[i] = byte(v), 0xd0
		return i + 2
	case v >= math.MinInt16:
		b[i] = 0xd1
		binary.BigEndian.PutUint16(b[i+1:], uint16(v))
		return i + 3
	case v >= math.MinInt32:
		b[i] = 0xd2
		binary.BigEndian.PutUint32(b[i+1:], uint32(v))
		return i + 5
	}
	b[i] = 0xd3
	binary.BigEndian.PutUint64(b[i+1:], uint64(v))
	return i + 9
}

func putUint(b []byte, i int, v uint64) int {
	switch {
	case v < 128:
		b[i] = byte(v)
		return i + 1
	case v <= math.MaxUint8:
		b[i+1], b[i] = byte(v), 0xcc
		return i + 2
	case v <= math.MaxUint16:
		b[i] = 0xcd
		binary.BigEndian.PutUint16(b[i+1:], uint16(v))
		return i + 3
	case v <= math.MaxUint32:
		b[i] = 0xce
		binary.BigEndian.PutUint32(b[i+1:], uint32(v))
		return i + 5
	}
	b[i] = 0xcf
	binary.BigEndian.PutUint64(b[i+1:], v)
	return i + 9
}

func putBool(b []byte, i int, v bool) int {
	b[i] = 0xc2
	if v {
		b[i] = 0xc3
	}
	return i + 1
}

func putFloat32(b []byte, i int, v float32) int {
	b[i] = 0xca
	binary.BigEndian.PutUint32(b[i+1:], math.Float32bits(v))
	return i + 5
}

func putFloat64(b []byte, i int, v float64) int {
	b[i] = 0xcb
	binary.BigEndian.PutUint64(b[i+1:], math.Float64bits(v))
	return i + 9
}

// putLength writes a first byte and a length, of one, two or four bytes. first8
// is the first byte of the form with one; 0 where there is none.
func putLength(b []byte, i, n int, first8, first16, first32 byte) int {
	switch {
	case n <= math.MaxUint8 && first8 != 0:
		b[i+1], b[i] = byte(n), first8
		return i + 2
	case n <= math.MaxUint16:
		b[i] = first16
		binary.BigEndian.PutUint16(b[i+1:], uint16(n))
		return i + 3
	}
	b[i] = first32
	binary.BigEndian.PutUint32(b[i+1:], uint32(n))
	return i + 5
}

func putTextHead(b []byte, i, n int) int {
	if n < 32 {
		b[i] = 0xa0 | byte(n)
		return i + 1
	}
	return putLength(b, i, n, 0xd9, 0xda, 0xdb)
}

func putBytesHead(b []byte, i, n int) int { return putLength(b, i, n, 0xc4, 0xc5, 0xc6) }

func putListHead(b []byte, i, n int) int {
	if n < 16 {
		b[i] = 0x90 | byte(n)
		return i + 1
	}
	return putLength(b, i, n, 0, 0xdc, 0xdd)
}

func putTableHead(b []byte, i, n int) int {
	if n < 16 {
		b[i] = 0x80 | byte(n)
		return i + 1
	}
	return putLength(b, i, n, 0, 0xde, 0xdf)
}

// appendText appends a whole string.
func appendText(b []byte, s string) []byte {
	var first [maxHead]byte
	return append(append(b, first[:putTextHead(first[:], 0, len(s))]...), s...)
}

// The types of extensions: that of timestamps is of the specification, that of
// complex numbers of github.com/shamaton/msgpack.
const (
	timestamp     = -1
	complexNumber = -128

	maxTime    = 15
	maxComplex = 18
)

func putTime(b []byte, i int, t time.Time) int {
	seconds, nanoseconds := uint64(t.Unix()), uint64(t.Nanosecond())
	switch {
	case seconds>>34 != 0: // negative ones, too
		b[i], b[i+1], b[i+2] = 0xc7, 12, timestamp&0xff
		binary.BigEndian.PutUint32(b[i+3:], uint32(nanoseconds))
		binary.BigEndian.PutUint64(b[i+7:], seconds)
		return i + 15
	case nanoseconds != 0 || seconds > math.MaxUint32:
		b[i], b[i+1] = 0xd7, timestamp&0xff
		binary.BigEndian.PutUint64(b[i+2:], nanoseconds<<34|seconds)
		return i + 10
	}
	b[i], b[i+1] = 0xd6, timestamp&0xff
	binary.BigEndian.PutUint32(b[i+2:], uint32(seconds))
	return i + 6
}

func putComplex64(b []byte, i int, v complex64) int {
	b[i], b[i+1] = 0xd7, complexNumber&0xff
	binary.BigEndian.PutUint32(b[i+2:], math.Float32bits(real(v)))
	binary.BigEndian.PutUint32(b[i+6:], math.Float32bits(imag(v)))
	return i + 10
}

func putComplex128(b []byte, i int, v complex128) int {
	b[i], b[i+1] = 0xd8, complexNumber&0xff
	binary.BigEndian.PutUint64(b[i+2:], math.Float64bits(real(v)))
	binary.BigEndian.PutUint64(b[i+10:], math.Float64bits(imag(v)))
	return i + 18
}
