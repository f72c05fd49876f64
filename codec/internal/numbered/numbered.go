// Package numbered encodes Go structs as Protocol Buffers, by the numbers of their fields or the
// hashes of their names, and messages that protoc-gen-go has generated, for codec/protobuf, which
// describes what travels how.
package numbered

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
)

// MaxDepth is how deep messages may nest, as in other implementations.
const MaxDepth = 100

// plan is what is known of a type: the node of the struct that it is or points
// to, or why there is none.
type plan struct {
	node      *node
	err       error
	numbered  bool // a field has a number, or should have
	generated bool // pointers to the struct are generated.Messages
}

// plans holds the plans by type, reflect.Type to *plan.
var plans sync.Map

// errOther is the error of a type that is no struct which this package encodes.
var errOther = errors.New("it is no plain struct")

func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	p := &plan{err: errOther}
	s := t
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	if p.numbered = isNumbered(s); p.numbered || isPlain(s) {
		c := compiler{structs: make(map[reflect.Type]*node), hashes: !p.numbered}
		if p.node, p.err = c.message(s); p.err == nil {
			p.generated, p.err = hasCode(p.node)
		}
	}
	known, _ := plans.LoadOrStore(t, p)
	return known.(*plan)
}

// Is reports whether t is a struct with a numbered field, or a pointer to one.
func Is(t reflect.Type) bool { return t != nil && planOf(t).numbered }

// Takes reports whether t is a struct with or without numbered fields, or a pointer to one, and no
// message with code of its own.
func Takes(t reflect.Type) bool { return t != nil && planOf(t).err != errOther }

// Check returns why values of t, for which Takes holds, cannot be encoded; nil when they can.
func Check(t reflect.Type) error { return planOf(t).err }

// Append appends the encoding of v, for whose type Takes holds. A nil pointer is an error.
func Append(dst []byte, v any) ([]byte, error) {
	p := planOf(reflect.TypeOf(v))
	if p.err != nil {
		return dst, p.err
	}
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer {
		variable := reflect.New(value.Type())
		variable.Elem().Set(value)
		value = variable
	}
	if value.IsNil() {
		return dst, fmt.Errorf("a nil %T", v)
	}
	if p.generated {
		if m, ok := v.(generated.Message); ok {
			if b, ok := m.AppendWeft(dst, MaxDepth); ok {
				return b, nil
			}
		}
	}
	return p.node.append(dst, memory.Of(value))
}

// append appends the encoding of the message r.
func (n *node) append(dst []byte, r memory.Ref) ([]byte, error) {
	var e encoder
	b := e.message(n, dst, r, MaxDepth)
	if e.err != nil {
		return dst, e.err
	}
	return b, nil
}

// Decode decodes body into the struct that v, a pointer that is not nil, points
// to. For the type of v Takes holds.
func Decode(body []byte, v any) error {
	p := planOf(reflect.TypeOf(v))
	if p.err != nil {
		return p.err
	}
	value := reflect.ValueOf(v)
	value.Elem().SetZero()
	d := decoder{body: body, texts: texts.Pieces{Rest: p.node.frame}}
	from := 0
	if p.generated {
		from = d.generated(v.(generated.Message))
	}
	if from < len(body) {
		d.message(p.node, memory.Of(value), from, len(body), MaxDepth, false)
	}
	return d.err
}

// Reuse is Decode into memory that v has. Strings and bytes are those of body, which must
// not change while v is used.
func Reuse(body []byte, v any) error {
	p := planOf(reflect.TypeOf(v))
	if p.err != nil {
		return p.err
	}
	d := decoder{body: body, reuse: true}
	r := memory.Of(reflect.ValueOf(v))
	if !p.generated {
		d.message(p.node, r, 0, len(body), MaxDepth, true)
	} else if from := d.generated(v.(generated.Message)); from < len(body) {
		d.message(p.node, r, from, len(body), MaxDepth, false)
	}
	return d.err
}
