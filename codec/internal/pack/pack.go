// Package pack has the forms of MessagePack values. Its functions write a value, or
// the head of one, into b at i, where there is room for it, and return where it ends.
package pack

import (
	"encoding/binary"
	"math"
	"time"
)

// MaxHead is the longest head of a string, an array, a map or an extension.
const MaxHead = 6

// Int writes an integer.
func Int(b []byte, i int, v int64) int {
	switch {
	case v >= 0:
		return Uint(b, i, uint64(v))
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

// Uint writes an integer that is not negative.
func Uint(b []byte, i int, v uint64) int {
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

// Bool writes a bool.
func Bool(b []byte, i int, v bool) int {
	b[i] = 0xc2
	if v {
		b[i] = 0xc3
	}
	return i + 1
}

// Float32 writes a float32.
func Float32(b []byte, i int, v float32) int {
	b[i] = 0xca
	binary.BigEndian.PutUint32(b[i+1:], math.Float32bits(v))
	return i + 5
}

// Float64 writes a float64.
func Float64(b []byte, i int, v float64) int {
	b[i] = 0xcb
	binary.BigEndian.PutUint64(b[i+1:], math.Float64bits(v))
	return i + 9
}

// length writes a first byte and a length, of one, two or four bytes. first8
// is the first byte of the form with one; 0 where there is none.
func length(b []byte, i, n int, first8, first16, first32 byte) int {
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

// TextHead writes the head of a string of n bytes.
func TextHead(b []byte, i, n int) int {
	if n < 32 {
		b[i] = 0xa0 | byte(n)
		return i + 1
	}
	return length(b, i, n, 0xd9, 0xda, 0xdb)
}

// BytesHead writes the head of a byte string of n bytes.
func BytesHead(b []byte, i, n int) int { return length(b, i, n, 0xc4, 0xc5, 0xc6) }

// ListHead writes the head of an array of n elements.
func ListHead(b []byte, i, n int) int {
	if n < 16 {
		b[i] = 0x90 | byte(n)
		return i + 1
	}
	return length(b, i, n, 0, 0xdc, 0xdd)
}

// TableHead writes the head of a map of n entries.
func TableHead(b []byte, i, n int) int {
	if n < 16 {
		b[i] = 0x80 | byte(n)
		return i + 1
	}
	return length(b, i, n, 0, 0xde, 0xdf)
}

// AppendText appends a whole string to b.
func AppendText(b []byte, s string) []byte {
	var first [MaxHead]byte
	return append(append(b, first[:TextHead(first[:], 0, len(s))]...), s...)
}

// The types of extensions: that of timestamps is of the specification, that of
// complex numbers of github.com/shamaton/msgpack.
const (
	timestamp     = -1
	complexNumber = -128

	// MaxTime and MaxComplex are how many bytes such a value has at most.
	MaxTime    = 15
	MaxComplex = 18
)

// Time writes a timestamp.
func Time(b []byte, i int, t time.Time) int {
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

// Complex64 writes a complex number.
func Complex64(b []byte, i int, v complex64) int {
	b[i], b[i+1] = 0xd7, complexNumber&0xff
	binary.BigEndian.PutUint32(b[i+2:], math.Float32bits(real(v)))
	binary.BigEndian.PutUint32(b[i+6:], math.Float32bits(imag(v)))
	return i + 10
}

// Complex128 writes a complex number.
func Complex128(b []byte, i int, v complex128) int {
	b[i], b[i+1] = 0xd8, complexNumber&0xff
	binary.BigEndian.PutUint64(b[i+2:], math.Float64bits(real(v)))
	binary.BigEndian.PutUint64(b[i+10:], math.Float64bits(imag(v)))
	return i + 18
}

// ComplexOf reads what an extension of a type holds.
func ComplexOf(kind int8, b []byte) (v complex128, ok bool) {
	if kind != complexNumber {
		return 0, false
	}
	switch len(b) {
	case 8:
		return complex(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), float64(math.Float32frombits(binary.BigEndian.Uint32(b[4:])))), true
	case 16:
		return complex(math.Float64frombits(binary.BigEndian.Uint64(b)), math.Float64frombits(binary.BigEndian.Uint64(b[8:]))), true
	}
	return 0, false
}

// latest is the last second that a time.Time holds, which counts from year 1.
const latest = math.MaxInt64 - 62135596800

// TimeOf reads what an extension of a type holds.
func TimeOf(kind int8, b []byte) (t time.Time, ok bool) {
	if kind != timestamp {
		return t, false
	}
	var seconds, nanoseconds uint64
	switch len(b) {
	case 4:
		seconds = uint64(binary.BigEndian.Uint32(b))
	case 8:
		both := binary.BigEndian.Uint64(b)
		seconds, nanoseconds = both&(1<<34-1), both>>34
	case 12:
		seconds, nanoseconds = binary.BigEndian.Uint64(b[4:]), uint64(binary.BigEndian.Uint32(b))
	default:
		return t, false
	}
	if nanoseconds >= 1e9 || int64(seconds) > latest {
		return t, false
	}
	return time.Unix(int64(seconds), int64(nanoseconds)).UTC(), true
}
