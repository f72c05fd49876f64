package protobuf

import (
	"errors"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxContainers bounds the structs, slices and maps of Go inside one another in a
// message that is known by its methods alone: a message within a message takes
// up to four of them.
const maxContainers = 4 * recursionLimit

var errNesting = errors.New("message nests deeper than 100 messages, or contains itself")

// check returns an error for a message that contains itself: generated code
// follows it until the stack is full, which ends the process. It costs a lookup
// for a message whose type cannot contain itself.
func (p *protobuf) check(v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		switch v.(type) {
		case vtMarshaler, gogoMessage:
			return p.plain.Check(v)
		}
		return nil // a struct with numbers is checked as it is encoded
	}
	t, d := reflect.TypeOf(v), m.ProtoReflect().Descriptor()
	known, _ := p.kinds.Load(t)
	k, _ := known.(*kind)
	if k == nil || k.descriptor != d { // a type of Go may stand for several descriptors
		k = &kind{d, loopOf(d, make(map[protoreflect.FullName]*loop))}
		p.kinds.Store(t, k)
	}
	if k.loop != nil && k.loop.tooDeep(m.ProtoReflect(), 1) {
		return errNesting
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
	if depth > recursionLimit {
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
			deep = p.loop.parts[0].loop.tooDeep(v.Message(), depth)
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

// unsent reports whether generated code leaves out a field.
func unsent(f reflect.StructField) bool {
	return !f.IsExported() && !f.Anonymous || strings.HasPrefix(f.Name, "XXX_")
}
