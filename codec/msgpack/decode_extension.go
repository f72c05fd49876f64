package msgpack

import (
	"math"
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
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
	v, ok := pack.ComplexOf(kind, d.body[from:to])
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
	v, ok := pack.TimeOf(kind, d.body[from:to])
	if !ok {
		return d.fail("at byte %d: an extension of type %d and %d bytes is no timestamp", i, kind, to-from)
	}
	*t = v
	return to
}
