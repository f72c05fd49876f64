package gob

import (
	"bytes"
	"encoding/gob"
	"reflect"
	"sync"
	"sync/atomic"
)

// maxKept is the longest value, and the longest descriptions, for which an
// encoder or decoder is kept: its buffers grow with them.
const maxKept = 64 << 10

// A sender encodes the values of one type. Its encoders have described the type
// already, so all that is new of a body is the value.
type sender struct {
	typ reflect.Type // with pointers taken off

	// A value of this type may hold values behind interfaces, whose types an
	// encoder describes when it first meets them and never again.
	interfaces bool

	prefix atomic.Pointer[[]byte] // the descriptions; nil until they are known
	idle   sync.Pool              // of *encoder, each of which has written just prefix
}

func newSender(t reflect.Type) *sender {
	t = base(t)
	s := &sender{typ: t, interfaces: holdsInterface(t, make(map[reflect.Type]bool))}
	if s.interfaces {
		if prefix, ok := descriptionsOf(t); ok {
			s.prefix.Store(&prefix)
		}
	}
	return s
}

// holdsInterface reports whether a value of the type t may have an interface in
// it. seen has the types that were looked at.
func holdsInterface(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || encodesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsInterface(t.Elem(), seen)
	case reflect.Map:
		return holdsInterface(t.Key(), seen) || holdsInterface(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if !notSent(f) && holdsInterface(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// descriptionsOf returns the descriptions of the type t alone, as they are
// before a value without anything behind its interfaces. ok is false when there
// is no such value.
func descriptionsOf(t reflect.Type) (defs []byte, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // a method of the type that does not survive a zero value
		}
	}()
	e := newEncoder(nil)
	if e.enc.EncodeValue(reflect.New(t)) != nil {
		return nil, false
	}
	defs, _, _, ok = cut(e.out)
	return bytes.Clone(defs), ok
}

// append appends the descriptions and v.
func (s *sender) append(dst []byte, v any) ([]byte, error) {
	e, _ := s.idle.Get().(*encoder)
	fresh := e == nil
	if fresh {
		e = newEncoder(dst)
	} else {
		e.out, e.messages = append(dst, *s.prefix.Load()...), 0
	}
	start := len(e.out)
	// An encoder that failed has described types of which nothing was written.
	if err := e.enc.Encode(v); err != nil {
		return dst, err
	}
	out := e.out
	if e.out = nil; len(out)-len(dst) <= maxKept && s.reusable(e, out[len(dst):], out[start:], fresh) {
		s.idle.Put(e)
	}
	return out, nil
}

// reusable reports whether e has described the types of the prefix and no other.
// body is what it wrote, with the prefix; written is without it, unless fresh.
func (s *sender) reusable(e *encoder, body, written []byte, fresh bool) bool {
	prefix := s.prefix.Load()
	switch {
	case s.interfaces:
		// Descriptions may be anywhere in the value.
		if prefix == nil || len(body) < len(*prefix) {
			return false
		}
		scanned, err := scan(body, s.typ, nil)
		return err == nil && bytes.Equal(scanned.defs, *prefix)
	case !fresh:
		return e.messages == 1
	}
	defs, _, _, ok := cut(written)
	if ok && prefix == nil {
		clone := bytes.Clone(defs)
		s.prefix.CompareAndSwap(nil, &clone)
		prefix = s.prefix.Load()
	}
	return ok && bytes.Equal(defs, *prefix)
}

// An encoder writes to what it holds.
type encoder struct {
	enc      *gob.Encoder
	out      []byte
	messages int // how many were written
}

func newEncoder(out []byte) *encoder {
	e := &encoder{out: out}
	e.enc = gob.NewEncoder(e)
	return e
}

func (e *encoder) Write(p []byte) (int, error) {
	e.messages++
	e.out = append(e.out, p...)
	return len(p), nil
}
