package msgpack

import "github.com/weftrpc/weft/codec/internal/memory"

// union writes a struct of which exactly one field is set.
func (e *encoder) union(n *node, r memory.Ref, i, depth int) int {
	if set := n.set(r); set != 1 {
		return e.fail("%d fields of the union %s are set: set exactly one", set, n.typ)
	}
	return e.structure(n, r, i, depth)
}

// union reads a struct of which at most one field is set: none when the peer has set one that is not known here.
func union(d *decoder, n *node, r memory.Ref, i, depth int) int {
	next := d.structure(n, r, i, depth)
	if next >= 0 {
		if set := n.set(r); set > 1 {
			return d.fail("at byte %d: %d fields of the union %s are set: set exactly one", i, set, n.typ)
		}
	}
	return next
}

// set returns how many fields of the union r are set.
func (n *node) set(r memory.Ref) (count int) {
	for k := range n.fields {
		if at, ok := n.fields[k].present(r); ok && !n.fields[k].node.zero(at) {
			count++
		}
	}
	return count
}
