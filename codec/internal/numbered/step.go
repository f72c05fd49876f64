package numbered

import (
	"encoding/binary"
	"math"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// kind says how the values of most fields are encoded and decoded, without a look at their nodes.
type kind uint8

const (
	kindOther kind = iota // by the node
	kindList              // the same, unless the list is empty
	kindNil               // the same, unless the pointer or the map is nil
	kindBool
	kindInt32
	kindInt64
	kindUint32
	kindUint64
	kindText
	kindStrict // a text that must be UTF-8
	kindOptBool
	kindOptInt32
	kindOptInt64
	kindOptUint32
	kindOptUint64
	kindOptText
	kindOptStrict
)

// step is what is used for each value of a field. It is kept small, since thousands of messages leave little room in the processor's cache.
type step struct {
	word  uint32 // the tag as it lies in memory
	mask  uint32 // the bytes of word that the tag has; 0, and word 1, if it has more than four
	at    memory.Offset
	room  int // how much this field and those behind it take at most, beside texts and what makes room for itself
	kind  kind
	width uint8 // the length of the tag, in bytes
	shift uint8 // the same in bits
}

// slack is how far a write of eight bytes may reach beyond what it is for.
const slack = 8

// arrange makes the steps of a message whose fields are complete.
func (n *node) arrange() {
	n.steps = make([]step, len(n.fields))
	room := slack
	for k := len(n.fields) - 1; k >= 0; k-- {
		f, s := &n.fields[k], &n.steps[k]
		*s = step{word: 1, at: f.at, width: uint8(len(f.tag)), shift: uint8(8 * len(f.tag))}
		if word := [4]byte{}; copy(word[:], f.tag) == len(f.tag) {
			s.word, s.mask = binary.LittleEndian.Uint32(word[:]), math.MaxUint32>>(32-8*len(f.tag))
			s.kind = f.node.kind()
		}
		if s.kind.quick() {
			room += len(f.tag) + s.kind.most()
		}
		s.room = room
	}
	n.need = room
}

// kind returns the kind of a field, whose tag has at most four bytes.
func (n *node) kind() kind {
	leaf, optional := n, n.op == opPointer
	if optional {
		leaf = n.elem
	}
	k, opt := kindOther, kindOther
	switch {
	case leaf.op == opBool:
		k, opt = kindBool, kindOptBool
	case leaf.op == opInt && leaf.bits == 32:
		k, opt = kindInt32, kindOptInt32
	case leaf.op == opInt && leaf.bits == 64:
		k, opt = kindInt64, kindOptInt64
	case leaf.op == opUint && leaf.bits == 32:
		k, opt = kindUint32, kindOptUint32
	case leaf.op == opUint && leaf.bits == 64:
		k, opt = kindUint64, kindOptUint64
	case leaf.op == opText && leaf.strict:
		k, opt = kindStrict, kindOptStrict
	case leaf.op == opText:
		k, opt = kindText, kindOptText
	case n.op == opList || n.op == opBytes && !n.explicit:
		k = kindList
	case n.op == opPointer || n.op == opTable:
		k, opt = kindNil, kindNil
	}
	if optional {
		return opt
	}
	return k
}

// quick reports whether run encodes such values and scan decodes them, if they are not unusual.
func (k kind) quick() bool { return k >= kindBool }

// most returns how many bytes a value takes at most, or the length before a text.
func (k kind) most() int {
	switch k {
	case kindBool, kindOptBool:
		return 1
	case kindUint32, kindOptUint32:
		return binary.MaxVarintLen32
	}
	return binary.MaxVarintLen64
}
