package hpack

// Encoder writes the header blocks of one direction of one connection. It adds entries to the
// dynamic table and never so much that one has to leave: the number of an entry changes
// only with what is added, and what has room in the table is sent in full once.
type Encoder struct {
	n, size int
	plain   bool // the peer wants a smaller table: none is used
	update  bool // and must be told so
}

// Known is a field that is sent often. It belongs to one Encoder.
type Known struct {
	Name, Value string
	place       int // in the dynamic table, from its oldest entry, which is 1; 0: it is not there
}

// Limit notes the size of table that the peer allows.
func (e *Encoder) Limit(n uint32) {
	if n < TableSize && !e.plain {
		e.plain, e.update = true, true
	}
}

// Epoch changes whenever fields would be encoded in another way than before: while it is the same, what was appended for known fields, and for
// those that enter no table, may be appended again as it is.
func (e *Encoder) Epoch() int {
	if e.plain {
		return -1
	}
	return e.n
}

// Begin appends what a block begins with.
func (e *Encoder) Begin(b []byte) []byte {
	if e.update {
		e.update = false
		b = append(b, 0x20)
	}
	return b
}

// Known appends a field by its place in the table, where it enters if it has room.
func (e *Encoder) Known(b []byte, k *Known) []byte {
	switch size := len(k.Name) + len(k.Value) + 32; {
	case e.plain:
		return e.Literal(b, k.Name, k.Value)
	case k.place != 0:
		return appendInteger(b, 0x80, 7, uint64(staticLen+1+e.n-k.place))
	case e.size+size > TableSize:
		return e.Literal(b, k.Name, k.Value)
	default:
		e.size += size
		e.n++
		k.place = e.n
		b = append(b, 0x40)
		return appendText(appendText(b, k.Name), k.Value)
	}
}

// Named appends a field with the name of a known one, which enters the table the first time,
// and a value of its own.
func (e *Encoder) Named(b []byte, k *Known, value []byte) []byte {
	if k.place == 0 || e.plain {
		k.Value = string(value)
		return e.Known(b, k)
	}
	b = appendInteger(b, 0, 4, uint64(staticLen+1+e.n-k.place))
	b = appendInteger(b, 0, 7, uint64(len(value)))
	return append(b, value...)
}

// Literal appends a field that does not enter the table.
func (e *Encoder) Literal(b []byte, name, value string) []byte {
	b = append(b, 0)
	return appendText(appendText(b, name), value)
}

// Secret appends a field that nothing on its way may keep in a table.
func (e *Encoder) Secret(b []byte, name, value string) []byte {
	b = append(b, 0x10)
	return appendText(appendText(b, name), value)
}

// Static appends a field by its number in the static table.
func (e *Encoder) Static(b []byte, n byte) []byte { return append(b, 0x80|n) }

// Numbers in the static table.
const (
	StaticPOST  = 3
	StaticHTTP  = 6
	StaticHTTPS = 7
	Static200   = 8
)

func appendInteger(b []byte, first byte, bits int, n uint64) []byte {
	most := uint64(1)<<bits - 1
	if n < most {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func appendText(b []byte, s string) []byte {
	b = appendInteger(b, 0, 7, uint64(len(s)))
	return append(b, s...)
}
