package hpack

// Decoder decodes the header blocks of one direction of one connection.
type Decoder struct {
	tables     *Tables
	vocabulary Vocabulary

	// The dynamic table: a ring whose length is a power of two.
	ring  []Field
	first int // the newest entry
	n     int
	size  uint32
	max   uint32

	scratch []byte // the strings of the field that is decoded
	f       Field  // that field
}

// NewDecoder returns a decoder with an empty table.
func NewDecoder(t *Tables, v Vocabulary) *Decoder {
	return &Decoder{tables: t, vocabulary: v, max: TableSize}
}

// Decode decodes a block and gives every field to yield, which may keep what is in it. An
// error is one of the connection: its tables are no longer known.
func (d *Decoder) Decode(b []byte, yield func(*Field)) error {
	begin := true
	for len(b) > 0 {
		c := b[0]
		switch {
		case c&0x80 != 0:
			n, rest, ok := integer(b, 7)
			f := d.indexed(n)
			if !ok || f == nil {
				return wrong("a field refers to entry %d, which there is not", n)
			}
			b, begin = rest, false
			yield(f)
			continue
		case c&0xe0 == 0x20:
			n, rest, ok := integer(b, 5)
			if !ok || !begin || n > TableSize {
				return wrong("a wrong update of the size of the table")
			}
			d.max = uint32(n)
			d.evict(d.max)
			b = rest
			continue
		}
		begin = false
		index := c&0xc0 == 0x40
		f, rest, err := d.literal(b, index)
		if err != nil {
			return err
		}
		b = rest
		yield(f)
		if index {
			d.add(f)
		}
	}
	return nil
}

// literal decodes a field that is there in full, or but for its name.
func (d *Decoder) literal(b []byte, index bool) (f *Field, rest []byte, err error) {
	bits := 4
	if index {
		bits = 6
	}
	n, rest, ok := integer(b, bits)
	if !ok {
		return nil, nil, wrong("a field with a wrong number of its name")
	}
	d.scratch = d.scratch[:0]
	var name []byte
	var kind Kind
	var ref *Field
	if n != 0 {
		if ref = d.indexed(n); ref == nil {
			return nil, nil, wrong("a name refers to entry %d, which there is not", n)
		}
		kind = ref.Kind
	} else {
		if name, rest, ok = d.text(rest); !ok {
			return nil, nil, wrong("a field with a wrong name")
		}
		kind = d.kindOf(name)
	}
	value, rest, ok := d.text(rest)
	if !ok {
		return nil, nil, wrong("a field with a wrong value")
	}
	return d.look(name, value, kind, ref), rest, nil
}

// look finds out what a field means. ref is the entry that gave it its name, if any.
func (d *Decoder) look(name, value []byte, kind Kind, ref *Field) *Field {
	f := &d.f
	*f = Field{Kind: kind, nameLen: uint32(len(name))}
	if ref != nil {
		f.nameLen = ref.nameLen
	}
	f.Size = 32 + f.nameLen + uint32(len(value))
	for _, c := range value {
		if c == 0 || c == '\r' || c == '\n' {
			f.Kind = Malformed
		}
	}
	switch f.Kind {
	case Malformed:
	case ContentLength:
		f.Num, f.OK = decimal(value)
	case te:
		if f.OK = string(value) == "trailers"; !f.OK && len(value) > 0 {
			f.Kind = Malformed
		}
	case Other:
		if f.Value = string(value); ref != nil {
			f.Name = ref.Name
		} else {
			f.Name = string(name)
		}
	default:
		d.vocabulary.Look(f, value)
	}
	return f
}

func (d *Decoder) indexed(n uint64) *Field {
	switch {
	case n == 0:
		return nil
	case n <= staticLen:
		return &d.tables.static[n]
	case n-staticLen-1 < uint64(d.n):
		return d.at(int(n - staticLen - 1))
	}
	return nil
}

// text decodes a string. It lies in b or in scratch.
func (d *Decoder) text(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	coded := b[0]&0x80 != 0
	n, b, ok := integer(b, 7)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	s, rest = b[:n], b[n:]
	if !coded {
		return s, rest, true
	}
	at := len(d.scratch)
	d.scratch, ok = d.tables.huffman.append(d.scratch, s)
	return d.scratch[at:], rest, ok
}

func (d *Decoder) at(i int) *Field { return &d.ring[(d.first+i)&(len(d.ring)-1)] }

// evict takes the oldest entries out until the others have at most room bytes.
func (d *Decoder) evict(room uint32) {
	for d.n > 0 && d.size > room {
		d.n--
		e := d.at(d.n)
		d.size -= e.Size
		*e = Field{}
	}
}

func (d *Decoder) add(f *Field) {
	if f.Size > d.max {
		d.evict(0)
		return
	}
	d.evict(d.max - f.Size)
	if d.n == len(d.ring) {
		ring := make([]Field, max(16, 2*len(d.ring)))
		for i := range d.n {
			ring[i] = *d.at(i)
		}
		d.ring, d.first = ring, 0
	}
	d.first = (d.first - 1) & (len(d.ring) - 1)
	d.ring[d.first] = *f
	d.n++
	d.size += f.Size
}

// integer decodes an integer that begins in so many bits.
func integer(b []byte, bits int) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	most := uint64(1)<<bits - 1
	n = uint64(b[0]) & most
	b = b[1:]
	if n < most {
		return n, b, true
	}
	for shift := 0; shift <= 28; shift += 7 {
		if len(b) == 0 {
			return 0, nil, false
		}
		c := b[0]
		b = b[1:]
		n += uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return n, b, true
		}
	}
	return 0, nil, false
}
