package numbered

import (
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// maxFields is how many fields a struct may have whose memory is used again.
const maxFields = 256

// fieldSet holds indexes of fields.
type fieldSet [maxFields / 64]uint64

// add adds k and reports whether it was not there.
func (s *fieldSet) add(k int) bool {
	word, bit := &s[uint(k)/64%(maxFields/64)], uint64(1)<<(k%64)
	was := *word
	*word |= bit
	return was&bit == 0
}

func (s *fieldSet) has(k int) bool { return s[k/64]>>(k%64)&1 == 1 }

// begin readies a struct that holds what an earlier message left. It reports whether
// something is left.
func (d *decoder) begin(n *node, r memory.Ref) bool {
	if len(n.fields) > maxFields || len(n.others) > 0 && !memory.Unexported {
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

// resetOthers empties the fields of the struct r that did not come.
func (n *node) resetOthers(r memory.Ref, came *fieldSet) {
	for k := range n.fields {
		if !came.has(k) {
			n.fields[k].node.reset(r.Field(n.fields[k].at))
		}
	}
}

// reset empties a variable. Lists and maps keep their memory.
func (n *node) reset(r memory.Ref) {
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
			r.Value(n.typ).Clear()
		}
	case opMessage:
		if len(n.others) > 0 && !memory.Unexported {
			r.Value(n.typ).SetZero()
			return
		}
		n.resetRest(r)
		for k := range n.fields {
			n.fields[k].node.reset(r.Field(n.fields[k].at))
		}
	case opTime:
		*memory.As[time.Time](r) = time.Time{}
	case opDuration:
		r.Set64(0)
	case opBool:
		r.SetBool(false)
	case opFloat:
		if n.bits == 32 {
			r.SetFloat32(0)
		} else {
			r.SetFloat64(0)
		}
	default:
		switch n.bits {
		case 8:
			r.Set8(0)
		case 16:
			r.Set16(0)
		case 32:
			r.Set32(0)
		default:
			r.Set64(0)
		}
	}
}
