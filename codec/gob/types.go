package gob

import (
	"errors"
	"fmt"
	"slices"
)

type kind uint8

const (
	kindNone kind = iota
	kindArray
	kindSlice
	kindStruct
	kindMap
	kindOpaque // bytes that a type encodes itself
)

// A description is what a body says about one of its types.
type description struct {
	kind      kind
	key, elem part
	length    int64 // array: how many elements
	fields    []field
	message   []byte // the description itself
}

// A field is what a description says about a field of a struct.
type field struct {
	name string
	part
}

// A part is the type of what a container holds.
type part struct {
	id int64
	to *description // set by link; nil for a type without a description
}

// descriptions are the types that are known by number.
type descriptions map[int64]*description

// link sets the pointers of all parts. After it, check may use the descriptions.
func (all descriptions) link() {
	for _, d := range all {
		d.link(all)
	}
}

func (d *description) link(all descriptions) {
	d.key.to, d.elem.to = all[d.key.id], all[d.elem.id]
	for i := range d.fields {
		d.fields[i].to = all[d.fields[i].id]
	}
}

// maxDescriptions is how many bytes the descriptions in one body, or in one
// stream, may take.
// encoding/gob makes some fifty bytes of each, and a type of a large service
// takes some hundred.
const maxDescriptions = 256 << 10

// describe reads the description of the type with the number id.
func (s *scanner) describe(id int64) {
	if id < firstDescribed || s.types[id] != nil {
		s.fail(fmt.Errorf("type %d described twice", id))
		return
	}
	start := len(s.out)
	d := s.wireType()
	if s.err == nil && d.kind == kindNone {
		s.fail(fmt.Errorf("description of type %d is empty", id))
	}
	begin := len(s.defs)
	var number [10]byte
	minus := appendInt(number[:0], -id)
	s.defs = appendUint(s.defs, uint64(len(minus)+len(s.out)-start))
	s.defs = append(append(s.defs, minus...), s.out[start:]...)
	s.out = s.out[:start]
	d.message = slices.Clip(s.defs[begin:])
	s.types[id] = d
	if s.defsSize += len(d.message); s.defsSize > maxDescriptions {
		s.fail(fmt.Errorf("descriptions of types take more than %d bytes", maxDescriptions))
	}
}

// reachable appends the descriptions of the type with that number and of those
// that it is made of, in the order of encoding/gob, each once: seen has those
// that are in dst. It links them. More than most bytes are an error, and so is a
// type without a description.
func (all descriptions) reachable(dst []byte, id int64, seen map[int64]bool, most int) ([]byte, error) {
	for todo := []int64{id}; len(todo) > 0; {
		id, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if id < firstDescribed || seen[id] {
			continue
		}
		d := all[id]
		if d == nil {
			return dst, fmt.Errorf("type %d is not described", id)
		}
		seen[id] = true
		d.link(all)
		if dst = append(dst, d.message...); len(dst) > most {
			return dst, fmt.Errorf("descriptions of one value take more than %d bytes", most)
		}
		for i := len(d.fields) - 1; i >= 0; i-- { // the first one is taken first
			todo = append(todo, d.fields[i].id)
		}
		if d.kind == kindMap {
			todo = append(todo, d.elem.id, d.key.id)
		} else {
			todo = append(todo, d.elem.id)
		}
	}
	return dst, nil
}

// holdInterface reports whether values of the type with that number may have an
// interface in them. seen has the types that were looked at.
func (all descriptions) holdInterface(id int64, seen map[int64]bool) bool {
	for todo := []int64{id}; len(todo) > 0; {
		id, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if id == typeInterface {
			return true
		}
		d := all[id]
		if d == nil || seen[id] {
			continue
		}
		seen[id] = true
		todo = append(todo, d.key.id, d.elem.id)
		for _, f := range d.fields {
			todo = append(todo, f.id)
		}
	}
	return false
}

// wireType reads the struct of that name in encoding/gob, of which one field
// is set.
func (s *scanner) wireType() *description {
	d := new(description)
	s.fields(func(field int) {
		if d.kind != kindNone {
			s.fail(errors.New("description of a type that is two things"))
			return
		}
		switch field {
		case 0:
			d.kind = kindArray
			s.parts(func() { d.elem.id = s.id() }, func() { d.length = s.int() })
		case 1:
			d.kind = kindSlice
			s.parts(func() { d.elem.id = s.id() })
		case 2:
			d.kind = kindStruct
			s.parts(func() { d.fields = s.fieldTypes() })
		case 3:
			d.kind = kindMap
			s.parts(func() { d.key.id = s.id() }, func() { d.elem.id = s.id() })
		case 4, 5, 6:
			d.kind = kindOpaque
			s.parts()
		default:
			s.fail(fmt.Errorf("description of a type has field %d", field))
		}
	})
	return d
}

// parts reads a struct whose field 0 is a CommonType, the name and number of
// the type, and whose further fields the functions read.
func (s *scanner) parts(more ...func()) {
	s.fields(func(field int) {
		switch {
		case field == 0:
			s.nameAndNumber()
		case field <= len(more):
			more[field-1]()
		default:
			s.fail(fmt.Errorf("description of a type has a part %d", field))
		}
	})
}

// fieldTypes reads the fields of a struct.
func (s *scanner) fieldTypes() []field {
	n := s.uint()
	if n > uint64(len(s.buf)) {
		s.fail(fmt.Errorf("struct of %d fields claimed, %d bytes are left", n, len(s.buf)))
		return nil
	}
	var list []field
	for range n {
		list = append(list, s.nameAndNumber())
	}
	return list
}

// nameAndNumber reads a struct of a string and a number.
func (s *scanner) nameAndNumber() (f field) {
	s.fields(func(field int) {
		switch field {
		case 0:
			f.name = string(s.bytes())
		case 1:
			f.id = s.id()
		default:
			s.fail(fmt.Errorf("name of a type has field %d", field))
		}
	})
	return f
}

// fields reads a struct: it calls read with the number of each field that is
// there, in rising order.
func (s *scanner) fields(read func(field int)) {
	const most = 8 // no struct read so has more fields
	for field := -1; s.err == nil; {
		delta := s.uint()
		if delta == 0 {
			return
		}
		field += int(min(delta, most))
		read(min(field, most))
	}
}
