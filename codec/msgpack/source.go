package msgpack

import "github.com/weftrpc/weft/codec"

// source is a body that is read, with what is known of it.
type source struct {
	body []byte
	owed uint64 // so many elements are to come in the lists and maps around this place
	trail
}

// claim reports whether n elements, which the value at i announces, can be in the
// bytes from next on, beside those owed. Each has a byte at least; so all that is
// claimed, at whatever depth, is not more than what came. The caller takes each from
// owed before it reads it.
func (s *source) claim(n uint64, i, next int) bool {
	if left := uint64(len(s.body) - next); n > left || n > left-min(left, s.owed) {
		s.fail("at byte %d: %d elements claimed, %d bytes are left", i, n, left)
		return false
	}
	s.owed += n
	return true
}

func (s *source) short(i int) int {
	return s.fail("at byte %d: body ends within a value", i)
}

func (s *source) tooDeep(i int) int {
	return s.fail("at byte %d: nesting deeper than %d", i, codec.MaxDepth)
}

// unfit fails, since the value at i is none for the type of n.
func (s *source) unfit(f form, i int, n *node) int {
	switch f {
	case short:
		return s.short(i)
	case invalid:
		return s.fail("at byte %d: byte 0xc1 begins no value", i)
	}
	if n.op == opInterface {
		return s.fail("at byte %d: %s cannot be decoded into a %s, an interface with methods: give the field a concrete type, or any", i, f, n.typ)
	}
	return s.fail("at byte %d: %s does not fit a %s", i, f, n.typ)
}

// span returns where the bytes of the string or byte string at i are; to is
// failed when there is none. wanted names what was expected.
func (s *source) span(i int, wanted string) (from, to int) {
	f, n, next := head(s.body, i)
	switch {
	case f != text && f != binaryText && f != short:
		return 0, s.fail("at byte %d: %s does not fit %s", i, f, wanted)
	case f == short, n > uint64(len(s.body)-next):
		return 0, s.short(i)
	}
	return next, next + int(n)
}

// extension reads the extension at i: its type, and where its bytes are; to is
// failed when there are fewer.
func (s *source) extension(i int) (kind int8, from, to int) {
	_, n, next := head(s.body, i)
	if n+1 > uint64(len(s.body)-next) {
		return 0, 0, s.short(i)
	}
	return int8(s.body[next]), next + 1, next + 1 + int(n)
}

// skip returns where the value at i ends.
func (s *source) skip(i, depth int) int {
	f, n, next := head(s.body, i)
	left := uint64(len(s.body) - next)
	switch f {
	case short:
		return s.short(i)
	case invalid:
		return s.fail("at byte %d: byte 0xc1 begins no value", i)
	case extension:
		n++ // the type
		fallthrough
	case text, binaryText:
		if n > left {
			return s.short(i)
		}
		return next + int(n)
	case table:
		n *= 2
		fallthrough
	case list:
		if depth == 0 {
			return s.tooDeep(i)
		}
		if n > left {
			return s.fail("at byte %d: %d elements claimed, %d bytes are left", i, n, left)
		}
		for range int(n) {
			if next = s.skip(next, depth-1); next < 0 {
				return failed
			}
		}
	}
	return next
}

// affordable returns how many elements of a size to make room for at once, of n
// that a peer claims at i: memory grows with the bytes that came, not with those
// that were announced.
func (s *source) affordable(n int, size uintptr, i int) int {
	const floor, factor = 4 << 10, 16
	most := (floor + factor*uintptr(len(s.body)-i)) / max(1, size)
	return min(n, max(1, int(most)))
}
