package msgpack

import "github.com/weftrpc/weft/codec/internal/memory"

// self reads a value with the methods of its type.
func (d *decoder) self(n *node, r memory.Ref, i, depth int) int {
	v := r.Value(n.typ).Addr().Interface()
	if n.op == opGenerated {
		return d.generated(n, v.(unmarshaler), i, depth)
	}
	f, _, next := head(d.body, i)
	if f == null {
		return next
	}
	from, to := d.span(i, n.typ.String())
	if to < 0 {
		return failed
	}
	if err := n.own.Set(v, d.body[from:to:to]); err != nil {
		return d.fail("at byte %d: %w", i, err)
	}
	return to
}

// generated gives UnmarshalMsg the value at i, when it is one, and nothing else.
func (d *decoder) generated(n *node, v unmarshaler, i, depth int) int {
	end := d.skip(i, depth)
	if end < 0 {
		return failed
	}
	rest, err := v.UnmarshalMsg(d.body[i:end:end])
	switch {
	case err != nil:
		return d.fail("at byte %d: UnmarshalMsg of a %s: %w", i, n.typ, err)
	case len(rest) > 0:
		return d.fail("at byte %d: UnmarshalMsg of a %s left %d bytes", i, n.typ, len(rest))
	}
	return end
}
