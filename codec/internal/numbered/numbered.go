// Package numbered encodes Go structs as Protocol Buffers, by the numbers of their fields or the hashes of their names, and messages that
// protoc-gen-go has generated, for codec/protobuf, which describes what travels how.
package numbered

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// MaxDepth is how deep messages may nest, as in other implementations.
const MaxDepth = 100

// Plan says how values of a type are encoded and decoded: of a struct, of pointers to one, or of pointers to a
// message that protoc-gen-go has generated.
type Plan struct {
	node      *node
	err       error // why there is no node
	pointer   bool  // values are pointers
	numbered  bool  // a field has a number, or should have
	generated bool  // pointers to the struct are generated.Messages
	stock     bool  // of a message that protoc-gen-go has generated
}

// Stock reports whether the plan is of a message that protoc-gen-go has generated.
func (p *Plan) Stock() bool { return p.stock }

// plans holds the plans by type, reflect.Type to *Plan.
var plans sync.Map

// errOther is the error of a type that is no struct which this package encodes.
var errOther = errors.New("it is no plain struct")

func planOf(t reflect.Type) *Plan {
	if known, ok := plans.Load(t); ok {
		return known.(*Plan)
	}
	p := &Plan{err: errOther}
	s := t
	if p.pointer = s.Kind() == reflect.Pointer; p.pointer {
		s = s.Elem()
	}
	own := self.Of(s) == self.Weft
	if p.numbered = !own && tags.IsNumbered(s); own && s.Kind() == reflect.Struct {
		p.err = fmt.Errorf("a %s travels as bytes, by its method MarshalWeft, and bytes are a field and no message: put it in a struct", s)
	} else if p.numbered || tags.IsPlain(s) {
		c := compiler{structs: make(map[reflect.Type]*node), hashes: !p.numbered}
		if p.err = self.Check(s); p.err == nil {
			p.node, p.err = c.message(s)
		}
		if p.err == nil {
			p.generated, p.err = hasCode(p.node)
			p.generated = p.generated && (!p.pointer || t == reflect.PointerTo(s)) // a named pointer type has no methods
		}
	}
	known, _ := plans.LoadOrStore(t, p)
	return known.(*Plan)
}

// Of returns the plan of the type t; nil unless it is a struct, with or without numbered fields, or a pointer to one, and
// no message with code of its own.
func Of(t reflect.Type) *Plan {
	if t == nil {
		return nil
	}
	if p := planOf(t); p.err != errOther {
		return p
	}
	return nil
}

// Is reports whether t is a struct with a numbered field, or a pointer to one.
func Is(t reflect.Type) bool { return t != nil && planOf(t).numbered }

// Takes reports whether there is a plan of t.
func Takes(t reflect.Type) bool { return Of(t) != nil }

// Check returns why values of t, for which Takes holds, cannot be encoded; nil when they can.
func Check(t reflect.Type) error { return planOf(t).err }

// Append appends the encoding of v, which has the plan's type. A nil pointer is an error, unless to a generated message, as
// which it is empty.
func (p *Plan) Append(dst []byte, v any) ([]byte, error) {
	if p.err != nil {
		return dst, p.err
	}
	if !p.pointer {
		v = pointerTo(v)
	}
	r, ok := memory.Target(v)
	if !ok {
		return dst, p.errNil(v)
	}
	if p.generated {
		if b, ok := v.(generated.Message).AppendWeft(dst, MaxDepth); ok {
			return b, nil
		}
	}
	var e encoder
	b := e.message(p.node, dst, r, MaxDepth)
	if p.stock && e.err == nil {
		e.err = p.node.initialized(r)
	}
	if e.err != nil {
		return dst, e.err
	}
	return b, nil
}

// pointerTo returns a pointer to a variable with the value v. It stands apart, as errNil does, to keep the stacks of callers small.
//
//go:noinline
func pointerTo(v any) any {
	variable := reflect.New(reflect.TypeOf(v))
	variable.Elem().Set(reflect.ValueOf(v))
	return variable.Interface()
}

// errNil is the error of encoding nil, which is an empty message of those that protoc-gen-go has generated.
//
//go:noinline
func (p *Plan) errNil(v any) error {
	if p.stock {
		return nil
	}
	return fmt.Errorf("a nil %T", v)
}

// ErrNoTarget is the error of decoding into what is no pointer, or nil.
var ErrNoTarget = errors.New("it is no pointer to a message, or nil")

// Decode decodes body into v, which has the plan's type and points to a struct, or to a generated message that is empty.
func (p *Plan) Decode(body []byte, v any) error {
	r, ok := p.target(v)
	if !ok {
		return p.noTarget()
	}
	if !p.stock {
		r.Value(p.node.typ).SetZero()
	}
	return p.decode(body, false, v, r)
}

// Reuse is Decode into memory that v has. Strings and bytes are those of body, which must not change while v is used.
func (p *Plan) Reuse(body []byte, v any) error {
	r, ok := p.target(v)
	if !ok {
		return p.noTarget()
	}
	return p.decode(body, true, v, r)
}

// target returns the variable that v points to.
func (p *Plan) target(v any) (r memory.Ref, ok bool) {
	if p.err == nil && p.pointer {
		return memory.Target(v)
	}
	return r, false
}

func (p *Plan) noTarget() error {
	if p.err != nil {
		return p.err
	}
	return ErrNoTarget
}

// decode decodes body into v, to which r refers; with reuse, into the memory that it has.
func (p *Plan) decode(body []byte, reuse bool, v any, r memory.Ref) error {
	if p.generated {
		return p.byCode(body, reuse, v, r)
	}
	var d decoder
	d.begin(p.node, body, reuse)
	d.message(p.node, r, 0, len(body), MaxDepth, reuse)
	if d.err == nil && p.stock {
		return p.node.initialized(r)
	}
	return d.err
}
