package msgpack

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// complex reads a complex number of either size.
func (d *decoder) complex(n *node, r memory.Ref, i int) int {
	f, _, next := head(d.body, i)
	switch f {
	case null:
		return next
	case extension:
	default:
		return d.unfit(f, i, n)
	}
	kind, from, to := d.extension(i)
	if to < 0 {
		return failed
	}
	v, ok := complexOf(kind, d.body[from:to])
	if !ok {
		return d.unfit(f, i, n)
	}
	if n.op == opComplex64 {
		for _, x := range []float64{real(v), imag(v)} {
			if !math.IsInf(x, 0) && math.IsInf(float64(float32(x)), 0) {
				return d.fail("at byte %d: %v does not fit a %s", i, v, n.typ)
			}
		}
	}
	r.Value(n.typ).SetComplex(v)
	return to
}

// complexOf reads what an extension of a type holds.
func complexOf(kind int8, b []byte) (v complex128, ok bool) {
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

// time reads a timestamp.
func (d *decoder) time(n *node, t *time.Time, i int) int {
	f, _, next := head(d.body, i)
	switch f {
	case null:
		return next
	case extension:
	default:
		return d.unfit(f, i, n)
	}
	kind, from, to := d.extension(i)
	if to < 0 {
		return failed
	}
	v, ok := timeOf(kind, d.body[from:to])
	if !ok {
		return d.fail("at byte %d: an extension of type %d and %d bytes is no timestamp", i, kind, to-from)
	}
	*t = v
	return to
}

// timeOf reads what an extension of a type holds.
func timeOf(kind int8, b []byte) (t time.Time, ok bool) {
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
	if nanoseconds >= 1e9 {
		return t, false
	}
	return time.Unix(int64(seconds), int64(nanoseconds)).UTC(), true
}

// extension reads the extension at i: its type, and where its bytes are; to is
// failed when there are fewer.
func (d *decoder) extension(i int) (kind int8, from, to int) {
	_, n, next := head(d.body, i)
	if n+1 > uint64(len(d.body)-next) {
		return 0, 0, d.short(i)
	}
	return int8(d.body[next]), next + 1, next + 1 + int(n)
}
