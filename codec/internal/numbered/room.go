package numbered

import "github.com/weftrpc/weft/codec/internal/room"

// What a map takes without entries, and for how many it has room from the first one on.
const (
	sizeTable = 48
	leastRoom = 8
)

// counted reports whether such values are counted in a list and behind a pointer, where an empty one has two bytes on the wire. Arrays of bytes
// are counted where they are read.
func (o op) counted() bool { return o == opMessage || o == opOwn }

// spend counts a message, also where it gets memory that is used again: so the same bodies are refused.
func (d *decoder) spend(n *node) bool { return d.spendBytes(int64(n.size)) }

// spendEntry counts an entry of a map that has so many.
func (d *decoder) spendEntry(n *node, entries int) bool {
	size := int64(n.key.size + n.elem.size + 1)
	if n.elem.op == opPointer {
		size += int64(n.elem.elem.size)
	}
	if entries == 0 {
		size = size*leastRoom + sizeTable
	}
	return d.spendBytes(size)
}

func (d *decoder) spendBytes(n int64) bool {
	d.room -= n
	return d.room >= 0 || d.refuse()
}

// affords reports whether so many elements, which are not counted yet, have room.
func (d *decoder) affords(n *node, count int) bool {
	return int64(count)*int64(n.size) <= d.room || d.refuse()
}

// refuse is the end of a body that takes too much memory.
func (d *decoder) refuse() bool {
	d.full, d.err = true, room.Error(len(d.body))
	return false
}
