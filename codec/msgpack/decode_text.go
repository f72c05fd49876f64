package msgpack

import (
	"github.com/weftrpc/weft/codec/internal/memory"
)

// text reads a string.
func (d *decoder) text(n *node, r memory.Ref, i int) int {
	if i < len(d.body) && d.body[i] == 0xc0 {
		r.SetText("")
		return i + 1
	}
	from, to := d.span(i, "a string")
	if to >= 0 {
		r.SetText(d.string(from, to))
	}
	return to
}

// bytes reads a byte string, a string, or an array of small numbers.
func (d *decoder) bytes(n *node, r memory.Ref, i, depth int) int {
	f, _, next := head(d.body, i)
	switch f {
	case null:
		r.SetBytes(nil)
		return next
	case list:
		return d.slice(n, r, i, depth)
	case text, binaryText:
	default:
		return d.unfit(f, i, n)
	}
	from, to := d.span(i, "bytes")
	switch {
	case to < 0:
	case from == to:
		r.SetBytes([]byte{})
	default:
		r.SetBytes(d.keep(from, to))
	}
	return to
}

// string returns a string with the bytes of body from one index to another.
func (d *decoder) string(from, to int) string {
	if d.reuse {
		return memory.String(d.body[from:to])
	}
	return d.texts.String(d.body[from:to], len(d.body)-from)
}

// keep returns a copy of the bytes of body from one index to another.
func (d *decoder) keep(from, to int) []byte {
	if d.reuse {
		return d.body[from:to:to]
	}
	return d.texts.Bytes(d.body[from:to], len(d.body)-from)
}
