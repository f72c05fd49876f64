package msgpack

import (
	"math"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// integer reads a number into an integer that can hold it.
func (d *decoder) integer(n *node, r memory.Ref, i int) int {
	f, v, next := head(d.body, i)
	switch f {
	case unsigned:
		if v > n.max {
			return d.fail("at byte %d: %d does not fit a %s", i, v, n.typ)
		}
	case signed:
		if s := int64(v); s < n.min || s >= 0 && v > n.max {
			return d.fail("at byte %d: %d does not fit a %s", i, s, n.typ)
		}
	case float32bits, float64bits:
		x := floatOf(f, v)
		if v = uint64(int64(x)); x >= 0 {
			v = uint64(x)
		}
		whole := x == math.Trunc(x) && x >= float64(n.min) && x < 2*float64(n.max/2+1)
		if !whole {
			return d.fail("at byte %d: %v does not fit a %s", i, x, n.typ)
		}
	case null:
	default:
		return d.unfit(f, i, n)
	}
	switch n.op {
	case opInt8, opUint8:
		r.Set8(uint8(v))
	case opInt16, opUint16:
		r.Set16(uint16(v))
	case opInt32, opUint32:
		r.Set32(uint32(v))
	default:
		r.Set64(v)
	}
	return next
}

// floatOf returns the number whose bits were sent.
func floatOf(f form, v uint64) float64 {
	if f == float32bits {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(v)
}

// float reads a number into a float. A float may be rounded to a narrower one, an
// integer must be held exactly, and neither may become infinite.
func (d *decoder) float(n *node, r memory.Ref, i int) int {
	f, v, next := head(d.body, i)
	narrow := n.op == opFloat32
	var x float64
	switch f {
	case float32bits, float64bits:
		x = floatOf(f, v)
		if narrow && !math.IsInf(x, 0) && math.IsInf(float64(float32(x)), 0) {
			return d.fail("at byte %d: %v does not fit a %s", i, x, n.typ)
		}
	case unsigned:
		if x = float64(v); narrow {
			x = float64(float32(v))
		}
		if x >= 1<<64 || uint64(x) != v {
			return d.fail("at byte %d: a %s cannot hold %d exactly", i, n.typ, v)
		}
	case signed:
		s := int64(v)
		if x = float64(s); narrow {
			x = float64(float32(s))
		}
		if x >= 1<<63 || int64(x) != s {
			return d.fail("at byte %d: a %s cannot hold %d exactly", i, n.typ, s)
		}
	case null:
	default:
		return d.unfit(f, i, n)
	}
	if narrow {
		r.SetFloat32(float32(x))
	} else {
		r.SetFloat64(x)
	}
	return next
}
