package msgpack

import (
	"reflect"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/memory"
)

var _ codec.Reuser = msgpackCodec{}

// DecodeReuse decodes body into v. Strings and byte slices are those of body, and lists and
// maps use their memory again; what pointers point to is new.
func (msgpackCodec) DecodeReuse(body []byte, v any) (err error) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		_, err := codec.Target(v)
		return err
	}
	p := planOf(v)
	if p.err != nil {
		return p.err
	}
	defer recovered(&err, "decoding into", v)
	d := decoder{source: source{body: body}, reuse: true}
	r := memory.Of(target)
	p.node.elem.clear(r)
	return d.decode(p.node.elem, r, v)
}

// decode decodes the one value that body holds into the variable r, which is cleared.
func (d *decoder) decode(n *node, r memory.Ref, v any) error {
	d.root, d.room = n.typ, freely+perByte*int64(len(d.body))
	end := d.value(n, r, 0, codec.MaxDepth)
	if end >= 0 && end < len(d.body) {
		end = d.fail("%d bytes behind the value", len(d.body)-end)
	}
	if end < 0 {
		return d.wrap("decoding into", v)
	}
	return nil
}

// clear empties a variable. Lists and maps keep their memory.
func (n *node) clear(r memory.Ref) {
	if n.simple {
		r.Value(n.typ).SetZero()
		return
	}
	switch n.op {
	case opSlice:
		if r.Len() > 0 {
			r.SetLen(0)
		}
	case opMap:
		if !r.IsNil() {
			memory.Empty(r.Value(n.typ))
		}
	case opArray:
		for k := range n.length {
			n.elem.clear(r.Index(k, n.elem.size))
		}
	case opStruct:
		for k := range n.fields {
			n.fields[k].node.clear(r.Field(n.fields[k].at))
		}
	}
}

// hasOthers reports whether the struct t has fields that do not travel, or may have them in
// a struct that is embedded in it.
func hasOthers(t reflect.Type) bool {
	for f := range t.Fields() {
		if name, _, out := tagOf(f); !f.IsExported() || out || flattened(f, name) {
			return true
		}
	}
	return false
}

// markSimple finds out whether a variable of the type has no lists and maps whose memory
// can be used again.
func (n *node) markSimple() {
	n.simple = true
	switch n.op {
	case opSlice, opMap:
		n.simple = false
	case opArray:
		n.simple = n.elem.simple
	case opStruct:
		for k := range n.fields {
			f := &n.fields[k]
			if n.others || f.rare != nil {
				n.simple = true // nothing of it may stay
				return
			}
			n.simple = n.simple && f.node.simple
		}
	}
}
