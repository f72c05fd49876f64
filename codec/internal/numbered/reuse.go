package numbered

import (
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// begin readies a struct that holds what an earlier message left. It reports whether something is left.
func (n *node) begin(r memory.Ref) bool {
	if len(n.others) > 0 && !memory.Unexported {
		r.Value(n.typ).SetZero()
		return false
	}
	n.resetRest(r)
	return true
}

// resetRest empties what a struct has beside its fields.
func (n *node) resetRest(r memory.Ref) {
	if n.stock != nil {
		r.Field(n.stock.unknown).SetBytes(nil)
	}
	for _, o := range n.others {
		r.Field(o.at).Value(o.typ).SetZero()
	}
}

// reset empties the fields of the struct r with the indexes from one to another.
func (n *node) reset(r memory.Ref, from, to int) {
	for k := from; k < to; k++ {
		f := &n.fields[k]
		f.node.empty(r.Field(f.at))
	}
}

// empty empties a variable. Lists and maps keep their memory.
func (n *node) empty(r memory.Ref) {
	switch n.op {
	case opText:
		r.SetText("")
	case opBytes:
		r.SetBytes(nil)
	case opPointer:
		r.SetNil()
	case opList:
		if r.Len() > 0 {
			r.SetLen(0)
		}
	case opTable:
		if !r.IsNil() {
			memory.Empty(r.Value(n.typ))
		}
	case opMessage:
		if len(n.others) > 0 && !memory.Unexported {
			r.Value(n.typ).SetZero()
			return
		}
		n.resetRest(r)
		n.reset(r, 0, len(n.fields))
	case opTime:
		*memory.As[time.Time](r) = time.Time{}
	case opDuration:
		r.Set64(0)
	case opOctets, opOwn, opAny, opArray:
		r.Value(n.typ).SetZero()
	case opBool:
		r.SetBool(false)
	case opFloat:
		if n.bits == 32 {
			r.SetFloat32(0)
		} else {
			r.SetFloat64(0)
		}
	default:
		switch n.size {
		case 1:
			r.Set8(0)
		case 2:
			r.Set16(0)
		case 4:
			r.Set32(0)
		default:
			r.Set64(0)
		}
	}
}
