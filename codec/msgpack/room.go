package msgpack

import (
	"math"
	"reflect"

	"github.com/weftrpc/weft/codec"
)

// What elements, entries and what pointers point to take in memory is counted roughly while a body is decoded. A body
// that takes more than a few times its length, as hardly any does, is read once more, to its end, before anything else
// is made of it: then [codec.Rooms] decides, as it does for the other codecs.
const (
	// freely is how many bytes a body may take before it is measured, and perByte how many more for each of its own.
	freely  = 1 << 20
	perByte = 4

	sizeText  = 16 // of a string
	sizeAny   = 16 // of an interface
	sizeTable = 48 // of a map without entries
	leastRoom = 8  // entries for which a map with any has room
)

// spend counts n elements of a size that are about to be made. It returns false when the body takes too much.
func spend(d *decoder, n int, size uintptr) bool {
	d.room -= int64(n) * int64(size)
	return d.room >= 0 || measure(d)
}

// spendTable counts a map of n entries of a size.
func spendTable(d *decoder, n int, size uintptr) bool {
	if n > 0 {
		n = max(n, leastRoom)
	}
	d.room -= sizeTable
	return spend(d, n, size+1)
}

// measure reads the whole body and reports whether it may be decoded.
//
//go:noinline
func measure(d *decoder) bool {
	d.room = math.MaxInt64 // once
	rooms := codec.Rooms{Least: 1, Opaque: opaque, Name: fieldName}
	tally := rooms.Tally(len(d.body), d.root)
	if tally == nil {
		return true
	}
	m := measurer{source: source{body: d.body}, tally: tally}
	if end := m.value(0, codec.MaxDepth); end >= 0 {
		return true
	}
	d.err = m.err
	return false
}

// measurer has a tally count the values of a body.
type measurer struct {
	source
	tally *codec.Tally
}

// value counts the value at i and returns where it ends.
func (m *measurer) value(i, depth int) int {
	f, n, next := head(m.body, i)
	if f != list && f != table {
		err := error(nil)
		if f == null {
			err = m.tally.Null()
		} else {
			err = m.tally.Scalar()
		}
		if err != nil {
			return m.fail("%w", err)
		}
		return m.skip(i, depth)
	}
	left := uint64(len(m.body) - next)
	if f == table {
		left /= 2
	}
	switch {
	case depth == 0:
		return m.tooDeep(i)
	case n > left:
		return m.fail("at byte %d: %d elements claimed, %d bytes are left", i, n, len(m.body)-next)
	}
	if err := m.tally.Begin(f == table); err != nil {
		return m.fail("%w", err)
	}
	for range n {
		if f == table {
			if next = m.key(next, depth-1); next < 0 {
				return failed
			}
		}
		if next = m.value(next, depth-1); next < 0 {
			return failed
		}
	}
	m.tally.End()
	return next
}

// key counts the key of an entry at i and returns where it ends.
func (m *measurer) key(i, depth int) int {
	f, n, next := head(m.body, i)
	switch {
	case f == text && n <= uint64(len(m.body)-next):
		end := next + int(n)
		m.tally.Key(m.body[next:end])
		return end
	case f == list || f == table: // in Go a struct or an array
		m.tally.MapKey()
		if next = m.value(i, depth); next < 0 {
			return failed
		}
	default:
		if next = m.skip(i, depth); next < 0 {
			return failed
		}
	}
	m.tally.Key(nil)
	return next
}

// opaque reports whether values of the type t decode themselves.
func opaque(t reflect.Type) bool {
	_, own := selfCoding(t)
	return own
}

// fieldName returns the name of a field in a map.
func fieldName(f reflect.StructField) (name string, embedded bool) {
	name, _, out := tagOf(f)
	switch {
	case !f.IsExported() || out:
		return "", false
	case flattened(f, name):
		return "", true
	case name == "":
		return f.Name, false
	}
	return name, false
}
