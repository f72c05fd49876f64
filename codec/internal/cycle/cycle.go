// Package cycle finds messages of Protocol Buffers that contain themselves: the code of google.golang.org/protobuf follows such
// a message until the stack is full, which ends the process.
package cycle

import (
	"errors"
	"reflect"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxDepth is how deep messages of such types may nest. It is the bound that C++ and Java have for all. The one of Go is 10000.
const MaxDepth = 100

// Err is the error of a message that nests too deep.
var Err = errors.New("message nests deeper than 100 messages, or contains itself")

// Checker remembers which types of messages can contain themselves. The zero value remembers none; it may be used
// concurrently.
type Checker struct{ kinds sync.Map } // reflect.Type of a proto.Message to *kind

// Check returns Err for a message that contains itself or nests too deep. It costs a lookup for a message whose type cannot
// contain itself.
func (c *Checker) Check(m proto.Message) error {
	t, d := reflect.TypeOf(m), m.ProtoReflect().Descriptor()
	known, _ := c.kinds.Load(t)
	k, _ := known.(*kind)
	if k == nil || k.descriptor != d { // a type of Go may stand for several descriptors
		k = &kind{d, loopOf(d, make(map[protoreflect.FullName]*loop))}
		c.kinds.Store(t, k)
	}
	if k.loop != nil && k.loop.tooDeep(m.ProtoReflect(), 1) {
		return Err
	}
	return nil
}

// A kind is what is known of messages of one type.
type kind struct {
	descriptor protoreflect.MessageDescriptor
	loop       *loop // nil when none can contain itself
}

// A loop is a type of message of which one may contain itself, or hold such a one.
type loop struct{ parts []part }

// A part is a field with messages of such a type.
type part struct {
	field protoreflect.FieldDescriptor
	loop  *loop
}

// loopOf returns the loop of a type, or nil. known has those that were looked for.
func loopOf(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*loop) *loop {
	if l, ok := known[d.FullName()]; ok {
		return l
	}
	if !containsItself(d, make(map[protoreflect.FullName]bool)) {
		known[d.FullName()] = nil
		return nil
	}
	l := new(loop)
	known[d.FullName()] = l
	fields := d.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() == nil {
			continue
		}
		if to := loopOf(f.Message(), known); to != nil {
			l.parts = append(l.parts, part{f, to})
		}
	}
	return l
}

// containsItself reports whether a message of this type, or of one that it is
// made of, can have one of its own type in it. seen has the types that were looked at:
// true for those around this one, false for those that cannot.
func containsItself(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if around, ok := seen[d.FullName()]; ok {
		return around
	}
	seen[d.FullName()] = true
	fields := d.Fields()
	for i := range fields.Len() {
		if part := fields.Get(i).Message(); part != nil && containsItself(part, seen) {
			return true
		}
	}
	seen[d.FullName()] = false
	return false
}

// tooDeep reports whether m, a message at that depth, nests too deep.
func (l *loop) tooDeep(m protoreflect.Message, depth int) bool {
	if depth > MaxDepth {
		return true
	}
	for _, p := range l.parts {
		if m.Has(p.field) && p.tooDeep(m.Get(p.field), depth+1) {
			return true
		}
	}
	return false
}

func (p part) tooDeep(v protoreflect.Value, depth int) (deep bool) {
	switch {
	case p.field.IsMap(): // its values are the parts of its entries
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			deep = p.loop.parts[0].loop.tooDeep(v.Message(), depth+1)
			return !deep
		})
	case p.field.IsList():
		for i := range v.List().Len() {
			if deep = p.loop.tooDeep(v.List().Get(i).Message(), depth); deep {
				break
			}
		}
	default:
		deep = p.loop.tooDeep(v.Message(), depth)
	}
	return deep
}
