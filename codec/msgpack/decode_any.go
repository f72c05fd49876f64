package msgpack

import "github.com/weftrpc/weft/codec/internal/pack"

// any reads the value at i into the Go type that suits it.
func (d *decoder) any(i, depth int) (v any, next int) {
	f, n, next := head(d.body, i)
	left := uint64(len(d.body) - next)
	switch f {
	case null:
		return nil, next
	case boolean:
		return n == 1, next
	case unsigned:
		switch next - i {
		case 1, 2:
			return uint8(n), next
		case 3:
			return uint16(n), next
		case 5:
			return uint32(n), next
		}
		return n, next
	case signed:
		switch next - i {
		case 1, 2:
			return int8(n), next
		case 3:
			return int16(n), next
		case 5:
			return int32(n), next
		}
		return int64(n), next
	case float32bits:
		return float32(floatOf(f, n)), next
	case float64bits:
		return floatOf(f, n), next
	case text, binaryText:
		if n > left {
			return nil, d.short(i)
		}
		end := next + int(n)
		switch {
		case f == text:
			return d.string(next, end), end
		case n == 0:
			return []byte{}, end
		}
		return d.keep(next, end), end
	case list, table:
		if depth == 0 {
			return nil, d.tooDeep(i)
		}
		if f == table {
			return d.anyTable(i, n, next, depth-1)
		}
		return d.anyList(i, n, next, depth-1)
	case extension:
		return d.anyExtension(i)
	case short:
		return nil, d.short(i)
	}
	return nil, d.fail("at byte %d: byte 0xc1 begins no value", i)
}

// anyList reads the n elements of an array that begins at i.
func (d *decoder) anyList(i int, n uint64, next, depth int) (any, int) {
	if !d.claim(n, i, next) {
		return nil, failed
	}
	if !spend(d, int(n), sizeAny) {
		return nil, failed
	}
	elements := make([]any, n)
	for k := range elements {
		d.owed--
		if elements[k], next = d.any(next, depth); next < 0 {
			return nil, d.in("[%d]", k)
		}
	}
	return elements, next
}

// anyTable reads the n entries of a map that begins at i.
func (d *decoder) anyTable(i int, n uint64, next, depth int) (any, int) {
	if !d.claim(2*n, i, next) {
		return nil, failed
	}
	if !spendTable(d, int(n), 2*sizeAny) {
		return nil, failed
	}
	entries := make(map[any]any, n)
	for range int(n) {
		d.owed -= 2
		var k, v any
		if k, next = d.anyKey(next, depth); next < 0 {
			return nil, d.in("[a key]")
		}
		if v, next = d.any(next, depth); next < 0 {
			return nil, d.in("[%v]", k)
		}
		entries[k] = v
	}
	return entries, next
}

// anyKey is any for the key of a map, which must be comparable.
func (d *decoder) anyKey(i, depth int) (any, int) {
	switch f, _, _ := head(d.body, i); f {
	case list, table:
		return nil, d.fail("at byte %d: %s cannot be a key of a map in Go", i, f)
	case binaryText:
		from, to := d.span(i, "a key")
		if to < 0 {
			return nil, failed
		}
		return d.string(from, to), to
	}
	return d.any(i, depth)
}

// anyExtension reads a timestamp or a complex number.
func (d *decoder) anyExtension(i int) (any, int) {
	kind, from, to := d.extension(i)
	if to < 0 {
		return nil, failed
	}
	if t, ok := pack.TimeOf(kind, d.body[from:to]); ok {
		return t, to
	}
	if c, ok := pack.ComplexOf(kind, d.body[from:to]); ok {
		if to-from == 8 {
			return complex64(c), to
		}
		return c, to
	}
	return nil, d.fail("at byte %d: an extension of type %d and %d bytes has no Go type", i, kind, to-from)
}
