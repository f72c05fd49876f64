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

// Check returns Err for a message that contains itself or nests too deep; an entry of a map counts as a message, as it does when it is
// decoded. It costs a lookup for a message whose type cannot contain itself.
func (c *Checker) Check(m proto.Message) error {
	t, d := reflect.TypeOf(m), m.ProtoReflect().Descriptor()
	known, _ := c.kinds.Load(t)
	k, _ := known.(*kind)
	if k == nil || k.descriptor != d { // a type of Go may stand for several descriptors
		k = &kind{d, shapeOf(d, make(map[protoreflect.FullName]*shape))}
		c.kinds.Store(t, k)
	}
	if !k.shape.fits(1) && k.shape.tooDeep(m.ProtoReflect(), 1) {
		return Err
	}
	return nil
}

// A kind is what is known of messages of one type.
type kind struct {
	descriptor protoreflect.MessageDescriptor
	shape      *shape
}

// A shape is the messages that one of a type may have in it.
type shape struct {
	height   int // how many of them may be in one another, with itself; endless for a type that can contain itself, or holds such a one, or has extensions
	parts    []part
	extended bool // a message may have extensions, of any type
}

const endless = 1 << 30

// A part is a field with messages, or entries of a map.
type part struct {
	field protoreflect.FieldDescriptor
	shape *shape
}

// shapeOf returns the shape of a type. known has those that were begun: of a type that is met within itself the height is endless, and stays so.
func shapeOf(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*shape) *shape {
	if s := known[d.FullName()]; s != nil {
		return s
	}
	s := &shape{height: endless, extended: d.ExtensionRanges().Len() > 0}
	known[d.FullName()] = s
	height, fields := 1, d.Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Message() != nil {
			p := part{f, shapeOf(f.Message(), known)}
			s.parts = append(s.parts, p)
			height = max(height, 1+p.shape.height)
		}
	}
	if !s.extended {
		s.height = min(height, endless)
	}
	return s
}

// fits reports whether no message of the shape, at that depth, can nest too deep.
func (s *shape) fits(depth int) bool { return depth+s.height-1 <= MaxDepth }

// tooDeep reports whether m, a message at that depth, nests too deep.
func (s *shape) tooDeep(m protoreflect.Message, depth int) bool {
	if depth > MaxDepth {
		return true
	}
	for _, p := range s.parts {
		if !p.shape.fits(depth+1) && m.Has(p.field) && p.tooDeep(m.Get(p.field), depth+1) {
			return true
		}
	}
	return s.extended && extensionsTooDeep(m, depth+1)
}

// extensionsTooDeep is tooDeep for the extensions of m, at that depth.
func extensionsTooDeep(m protoreflect.Message, depth int) (deep bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.IsExtension() && f.Message() != nil {
			p := part{f, shapeOf(f.Message(), make(map[protoreflect.FullName]*shape))}
			deep = !p.shape.fits(depth) && p.tooDeep(v, depth)
		}
		return !deep
	})
	return deep
}

// tooDeep reports whether a message at that depth nests too deep, of those that the field has.
func (p part) tooDeep(v protoreflect.Value, depth int) (deep bool) {
	switch {
	case p.field.IsMap() && len(p.shape.parts) == 0: // its entries have no messages
		return depth > MaxDepth
	case p.field.IsMap(): // its values are the parts of its entries
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			deep = p.shape.parts[0].shape.tooDeep(v.Message(), depth+1)
			return !deep
		})
	case p.field.IsList():
		for i := range v.List().Len() {
			if deep = p.shape.tooDeep(v.List().Get(i).Message(), depth); deep {
				break
			}
		}
	default:
		deep = p.shape.tooDeep(v.Message(), depth)
	}
	return deep
}
