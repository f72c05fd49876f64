package gob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/weftrpc/weft/codec"
)

// The types that need no description, by their number in the format.
const (
	typeBool = 1 + iota
	typeInt
	typeUint
	typeFloat
	typeBytes
	typeString
	typeComplex
	typeInterface

	firstDescribed = 64
)

// firstOut is how many bytes of memory there are at first for the plain form of a body. More follow with what was read, twice as many
// each time: a body that is not sound has not cost its whole length.
const firstOut = 16 << 10

var (
	errShort = errors.New("body ends within a value")
	errDepth = fmt.Errorf("nesting deeper than %d", codec.MaxDepth)
)

// scan reads body, which must be one sound value, and brings it to its plainest
// form: s.defs has the descriptions of all types, s.out the value.
//
// A stream may also describe the type of a value behind an interface just
// before that value, within the value around it. Lengths are then wrong by
// design, and a reader that skips the value reads on at another place than one
// that decodes it. In the plain form both see the same, so what was checked
// here is what encoding/gob will meet.
//
// receiver is the type of what the body will be decoded into, or nil when that
// is not known. tally, unless it is nil, counts the elements.
func scan(body []byte, receiver reflect.Type, tally *codec.Tally) (*scanner, error) {
	s := &scanner{rest: body, receiver: receiver, tally: tally, types: make(descriptions), out: make([]byte, 0, min(len(body), firstOut))}
	s.wholeValue()
	if s.err == nil && len(s.rest) > 0 {
		s.err = fmt.Errorf("%d bytes behind the value", len(s.rest))
	}
	return s, s.err
}

// wholeValue reads one value, from the beginning of the message that is open.
func (s *scanner) wholeValue() {
	s.top = s.typeSequence(false)
	s.out = appendInt(s.out, s.top)
	s.first(s.top)
	for len(s.stack) > 0 && s.err == nil {
		s.step()
	}
	if s.err == nil && len(s.buf) > 0 {
		s.err = fmt.Errorf("%d bytes behind the value", len(s.buf)+len(s.rest))
	}
}

// plain returns what was read as a body: the descriptions of all types, then one
// message with the value.
func (s *scanner) plain() []byte {
	return appendMessage(bytes.Clone(s.defs), s.out)
}

// A scanner walks through a body without recursion. It reads in the order that
// encoding/gob does, so that the two agree about what each byte is.
type scanner struct {
	rest     []byte // the messages to come
	buf      []byte // what is left of this message
	receiver reflect.Type
	tally    *codec.Tally

	// A stream gives its messages one by one: next returns the next one, room
	// how many bytes are still allowed. Without next, rest has all messages.
	next func() ([]byte, error)
	room func() int

	types    descriptions
	defsSize int // how many bytes their descriptions have

	top   int64   // the number of the value's type
	stack []frame // the containers around this place
	depth int     // how many of them are not interfaces

	interfaces []int64                   // the types of the values behind interfaces
	concrete   map[concrete]reflect.Type // what is known of types behind interfaces
	probed     int                       // how many bytes of descriptions were decoded to know that

	defs []byte // the descriptions, as messages
	out  []byte // the value so far
	err  error  // the first fault; nothing is read after it
}

// A frame is a container that is not read to its end.
type frame struct {
	typ   *description // nil for an interface
	left  uint64       // array, slice, map: elements to come; a map has two per entry
	field int64        // struct: the number of the last field, -1 before the first
	held  concrete     // interface: the type of its value
	start int          // interface: where its value begins in out
	known bool         // receiver is known
	// receiver is the type that this container is decoded into; nil when
	// encoding/gob skips it.
	receiver reflect.Type
}

// A concrete is the type of a value behind an interface: the name it is
// registered by and the number of its description.
type concrete struct {
	name string
	id   int64
}

// step reads one element of the innermost container, or closes it.
func (s *scanner) step() {
	f := &s.stack[len(s.stack)-1]
	switch {
	case f.typ == nil:
		s.out = insertUint(s.out, f.start, uint64(len(s.out)-f.start))
		s.stack = s.stack[:len(s.stack)-1]
	case f.typ.kind == kindStruct:
		delta := s.uint()
		switch {
		case delta == 0:
			s.pop()
		case delta > uint64(int64(len(f.typ.fields))-1-f.field):
			s.fail(fmt.Errorf("struct has a field beyond its last, %d", len(f.typ.fields)-1))
		default:
			f.field += int64(delta)
			if s.tally != nil {
				s.tally.Key([]byte(f.typ.fields[f.field].name))
			}
			s.value(f.typ.fields[f.field].id)
		}
	case f.left == 0:
		s.pop()
	default:
		f.left--
		switch {
		case f.typ.kind != kindMap:
			s.value(f.typ.elem.id)
		case f.left%2 == 1:
			s.key(f.typ.key.id)
		default:
			if s.tally != nil {
				s.tally.Key(nil)
			}
			s.value(f.typ.elem.id)
		}
	}
}

func (s *scanner) pop() {
	s.stack = s.stack[:len(s.stack)-1]
	s.depth--
	if s.tally != nil {
		s.tally.End()
	}
}

// key reads the key of a map. It is part of its entry, which is counted whole,
// unless it has parts that can take more.
func (s *scanner) key(id int64) {
	if s.tally != nil {
		s.tally.MapKey()
	}
	s.value(id)
}

// first reads the beginning of a value that stands alone, at the top or behind
// an interface: all but structs have a zero before them.
func (s *scanner) first(id int64) {
	if d := s.types[id]; d == nil || d.kind != kindStruct {
		if s.uint() != 0 {
			s.fail(errors.New("single value without its leading zero"))
		}
	}
	s.value(id)
}

// value reads a value without parts, or the beginning of one with parts.
func (s *scanner) value(id int64) {
	if s.tally != nil && (id < typeInterface || s.types[id] != nil && s.types[id].kind == kindOpaque) {
		s.count(s.tally.Scalar())
	}
	switch id {
	case typeBool, typeInt, typeUint, typeFloat:
		s.uint()
	case typeComplex:
		s.uint()
		s.uint()
	case typeBytes, typeString:
		s.bytes()
	case typeInterface:
		s.iface()
	default:
		s.described(id)
	}
}

// described reads the beginning of a value whose type has a description.
func (s *scanner) described(id int64) {
	d := s.types[id]
	if d == nil {
		s.fail(fmt.Errorf("type %d is not described", id))
		return
	}
	f := frame{typ: d, field: -1}
	switch d.kind {
	case kindOpaque:
		s.bytes()
		return
	case kindArray, kindSlice, kindMap:
		n := s.uint()
		if d.kind == kindArray && n != uint64(d.length) {
			s.fail(fmt.Errorf("array of %d elements, its type has %d", n, d.length))
			return
		}
		f.left = n
		if d.kind == kindMap {
			f.left = 2 * n
		}
		// Each element has at least a byte, in this message or the next ones.
		if left := s.left(); n > left || f.left > left {
			s.fail(fmt.Errorf("%d elements claimed, %d bytes are left", n, left))
			return
		}
	}
	if s.depth++; s.depth > codec.MaxDepth {
		s.fail(errDepth)
		return
	}
	s.stack = append(s.stack, f)
	if s.tally != nil {
		s.count(s.tally.Begin(d.kind == kindStruct || d.kind == kindMap))
	}
}

// count stops the scan when the elements take too much room.
func (s *scanner) count(err error) {
	if err != nil {
		s.fail(err)
	}
}

// iface reads what comes before a value behind an interface.
func (s *scanner) iface() {
	name := s.bytes()
	if s.err != nil {
		return
	}
	if len(name) == 0 { // the interface is nil
		if s.tally != nil {
			s.count(s.tally.Scalar())
		}
		if s.skipped() {
			s.fail(errors.New("the receiver lacks a field with a nil interface in it, which encoding/gob cannot skip"))
		}
		return
	}
	id := s.typeSequence(true)
	if id == typeInterface {
		s.fail(errors.New("interface holds an interface"))
	}
	s.out = appendInt(s.out, id)
	s.skipUint() // the length; the right one is put there when it is known
	s.interfaces = append(s.interfaces, id)
	if s.tally != nil {
		held := concrete{string(name), id}
		if t := s.registered(held); t != nil {
			s.tally.Into(t)
		} else if _, known := s.concrete[held]; !known {
			s.fail(fmt.Errorf("values behind interfaces have more than %d types, or long descriptions, in a body of many elements", maxConcrete))
		}
	}
	s.stack = append(s.stack, frame{held: concrete{string(name), id}, start: len(s.out)})
	s.first(id)
}

// typeSequence reads descriptions of types and then the number of the type of
// the value that follows, where encoding/gob has its decodeTypeSequence.
func (s *scanner) typeSequence(inInterface bool) int64 {
	for s.err == nil {
		if len(s.buf) == 0 {
			s.message()
		}
		id := s.number()
		if id >= 0 {
			return id
		}
		s.describe(-id)
		if len(s.buf) > 0 {
			if !inInterface {
				s.fail(errors.New("description of a type with bytes behind it"))
			}
			s.skipUint()
		}
	}
	return 0
}

// left returns how many bytes the rest of the value has at most.
func (s *scanner) left() uint64 {
	if s.next != nil {
		return uint64(len(s.buf) + max(s.room(), 0))
	}
	return uint64(len(s.buf) + len(s.rest))
}

// message opens the next message.
func (s *scanner) message() {
	if s.next != nil {
		if s.err == nil {
			s.buf, s.err = s.next()
		}
		return
	}
	s.buf, s.rest = s.rest, nil
	n := s.skipUint()
	if s.err == nil && n > uint64(len(s.buf)) {
		s.fail(fmt.Errorf("message of %d bytes claimed, %d are left", n, len(s.buf)))
	}
	if s.err == nil {
		s.buf, s.rest = s.buf[:n:n], s.buf[n:]
	}
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err, s.buf = err, nil
	}
}

// take returns the next n bytes, which it also copies to out.
func (s *scanner) take(n uint64) []byte {
	if s.err != nil || n > uint64(len(s.buf)) {
		s.fail(errShort)
		return nil
	}
	b := s.buf[:n]
	if cap(s.out)-len(s.out) < len(b) {
		s.out = slices.Grow(s.out, max(len(b), cap(s.out)))
	}
	s.buf, s.out = s.buf[n:], append(s.out, b...)
	return b
}

// uint reads an unsigned number: itself when below 128, else the negated count
// of its bytes and the bytes, the high ones first.
func (s *scanner) uint() uint64 {
	b := s.take(1)
	if s.err != nil {
		return 0
	}
	if b[0] < 0x80 {
		return uint64(b[0])
	}
	n := 256 - uint64(b[0])
	if n > 8 {
		s.fail(fmt.Errorf("number of %d bytes", n))
	}
	var whole [8]byte
	copy(whole[8-min(n, 8):], s.take(n))
	return binary.BigEndian.Uint64(whole[:])
}

// int reads a signed number, whose lowest bit says whether the rest is inverted.
func (s *scanner) int() int64 {
	u := s.uint()
	if u&1 != 0 {
		return ^int64(u >> 1)
	}
	return int64(u >> 1)
}

// bytes reads a string or a byte slice.
func (s *scanner) bytes() []byte { return s.take(s.uint()) }

// skipUint and skipInt read a number that does not go to out.
func (s *scanner) skipUint() uint64 {
	end := len(s.out)
	n := s.uint()
	s.out = s.out[:end]
	return n
}

// number reads the number of a type, negated before a description. It does not
// go to out.
func (s *scanner) number() int64 {
	end := len(s.out)
	n := s.id()
	s.out = s.out[:end]
	return n
}

// id reads the number of a type. encoding/gob takes the low 32 bits of one, so
// that two numbers here could be one type there.
func (s *scanner) id() int64 {
	n := s.int()
	if n > math.MaxInt32 || n < -math.MaxInt32 {
		s.fail(fmt.Errorf("type with the number %d, the largest is %d", n, math.MaxInt32))
		return 0
	}
	return n
}
