package json

import (
	"bytes"
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weftrpc/weft/codec/internal/room"
)

// What the parts of a generated message take in memory beside the structs of messages: a map, of which the first entry makes eight, a
// wrapper of a oneof, and values of any kind, such as those of google.protobuf.Value and of messages whose type only the body names.
const (
	sizeMap     = 48
	leastMap    = 8
	sizeOneof   = 24
	sizePointer = 8
	sizeText    = 16
	sizeFree    = 88  // a google.protobuf.Value with its wrapper and its pointer in a list
	sizeForeign = 512 // a message of a type that is not known
)

// messageShape is how values of a generated message are made.
type messageShape struct {
	size   int64            // of one, without those in it
	each   int64            // free: of a place in a list or an entry
	free   bool             // it may be any JSON, whose values are of the same shape
	fields map[string]place // by both names
	open   bool             // it may have extensions
}

// place is a place for values.
type place struct {
	shape *messageShape // of its values; nil: they are scalars, or nothing is made of them
	each  int64         // many: what one takes there
	many  bool          // it is a list or a map
}

// foreign is the shape of what a body names the type of.
func foreign() *messageShape {
	return &messageShape{size: sizeForeign, each: sizeText + sizePointer, free: true}
}

// messageKey is a type of messages. All dynamic messages have one Go type.
type messageKey struct {
	t reflect.Type
	d protoreflect.MessageDescriptor
}

// messageRoot is what is known of the type of a message.
type messageRoot struct {
	shape *messageShape
	most  int64 // the largest room that one element takes
}

// messageTally returns what counts the elements of a body that is decoded into m; nil if it cannot have too many.
func (c *jsonCodec) messageTally(body []byte, m proto.Message) counter {
	key := messageKey{reflect.TypeOf(m), m.ProtoReflect().Descriptor()}
	known, ok := c.messages.Load(key)
	if !ok {
		shapes := make(map[protoreflect.FullName]*messageShape)
		r := &messageRoot{shape: shapeOf(m.ProtoReflect().New(), shapes)}
		for _, s := range shapes {
			r.most = max(r.most, s.most())
		}
		if known = r; key.t != reflect.TypeFor[*dynamicpb.Message]() { // of these a program may make new ones for ever
			known, _ = c.messages.LoadOrStore(key, r)
		}
	}
	r, most := known.(*messageRoot), room.For(len(body))
	if int64(len(body)/2)*r.most <= most {
		return nil
	}
	n := 1
	for _, before := range []string{"{", "[", ","} { // each value but the first one stands behind one of these, or behind a key that does
		n += bytes.Count(body, []byte(before))
	}
	if int64(n)*r.most <= most {
		return nil
	}
	return &messageTally{length: len(body), left: most, next: place{shape: r.shape}}
}

// most is the largest room that one element takes in a message.
func (s *messageShape) most() int64 {
	most := s.size + s.each*leastMap + sizeMap
	for _, p := range s.fields {
		each := p.each*leastMap + sizeMap
		if p.shape != nil {
			each += p.shape.size
		}
		most = max(most, each)
	}
	if s.open {
		most = max(most, foreign().most())
	}
	return most
}

// shapeOf returns the shape of m, which is empty. shapes are those that are known.
func shapeOf(m protoreflect.Message, shapes map[protoreflect.FullName]*messageShape) *messageShape {
	d := m.Descriptor()
	if known := shapes[d.FullName()]; known != nil {
		return known
	}
	s := new(messageShape)
	shapes[d.FullName()] = s
	switch d.FullName() {
	case "google.protobuf.Value", "google.protobuf.Struct", "google.protobuf.ListValue":
		*s = messageShape{size: sizeFree + sizeMap, each: sizeText + sizePointer, free: true}
		return s
	case "google.protobuf.Any":
		*s = *foreign()
		return s
	}
	s.size = int64(sizeOneof * d.Oneofs().Len())
	if t := reflect.TypeOf(m.Interface()); t.Kind() == reflect.Pointer {
		s.size += int64(t.Elem().Size())
	}
	s.open = d.ExtensionRanges().Len() > 0
	s.fields = make(map[string]place, 2*d.Fields().Len())
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		p := placeOf(m, fd, shapes)
		s.fields[fd.JSONName()], s.fields[fd.TextName()] = p, p
	}
	return s
}

// placeOf is the place of a field.
func placeOf(m protoreflect.Message, fd protoreflect.FieldDescriptor, shapes map[protoreflect.FullName]*messageShape) (p place) {
	value := fd
	switch {
	case fd.IsMap():
		p.many, p.each = true, sizeOf(fd.MapKey())+1
		value = fd.MapValue()
	case fd.IsList():
		p.many = true
	}
	if p.many {
		p.each += sizeOf(value)
	}
	if value.Message() == nil {
		return p
	}
	switch v := m.NewField(fd); {
	case fd.IsMap():
		p.shape = shapeOf(v.Map().NewValue().Message(), shapes)
	case fd.IsList():
		p.shape = shapeOf(v.List().NewElement().Message(), shapes)
	default:
		p.shape = shapeOf(v.Message(), shapes)
	}
	return p
}

// sizeOf is what a value of a field takes where it stands.
func sizeOf(fd protoreflect.FieldDescriptor) int64 {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return sizeText
	case protoreflect.BytesKind:
		return sizeText + sizePointer
	case protoreflect.BoolKind:
		return 1
	}
	return sizePointer
}

// messageTally counts the room that the elements of a generated message take.
type messageTally struct {
	length int // of the body
	left   int64
	next   place // of the value that follows in an object
	stack  []messageLevel
}

// messageLevel is a container that was not read to its end.
type messageLevel struct {
	message *messageShape // it is an object with the fields of one
	values  place         // otherwise: where its values stand; each says what one takes
	keyed   bool          // it is an object
	entries int           // of an object, so far
}

// value returns the place of the value that follows, and counts it where it is an element of a list.
func (t *messageTally) value() (p place) {
	if len(t.stack) > 0 && !t.stack[len(t.stack)-1].keyed {
		l := &t.stack[len(t.stack)-1]
		t.left -= l.values.each
		return place{shape: l.values.shape}
	}
	p, t.next = t.next, place{}
	return p
}

// Begin implements counter.
func (t *messageTally) Begin(object bool) error {
	p, l := t.value(), messageLevel{keyed: object}
	switch {
	case p.many:
		l.values = place{shape: p.shape, each: p.each}
		if object {
			t.left -= sizeMap
		}
	case p.shape == nil:
	case p.shape.free:
		t.left -= p.shape.size
		l.values = place{shape: p.shape, each: p.shape.each}
	case object:
		t.left -= p.shape.size
		l.message = p.shape
	}
	t.stack = append(t.stack, l)
	return t.enough()
}

// End implements counter.
func (t *messageTally) End() { t.stack = t.stack[:len(t.stack)-1] }

// Key implements counter.
func (t *messageTally) Key(name []byte) {
	l := &t.stack[len(t.stack)-1]
	if l.message != nil {
		p, ok := l.message.fields[string(name)]
		if !ok && l.message.open && len(name) > 0 && name[0] == '[' { // an extension
			p.shape = foreign()
		}
		t.next = p
		return
	}
	each := l.values.each
	if l.entries++; l.entries == 1 {
		each *= leastMap
	}
	t.left -= each
	t.next = place{shape: l.values.shape}
}

// Scalar implements counter.
func (t *messageTally) Scalar() error {
	if p := t.value(); p.shape != nil && p.shape.free {
		t.left -= sizeFree
	} else if p.shape != nil && !p.many {
		t.left -= p.shape.size // a Timestamp, for example
	}
	return t.enough()
}

// Null implements counter.
func (t *messageTally) Null() error {
	if p := t.value(); p.shape != nil && p.shape.free {
		t.left -= sizeFree
	}
	return t.enough()
}

func (t *messageTally) enough() error {
	if t.left < 0 {
		return room.Error(t.length)
	}
	return nil
}
