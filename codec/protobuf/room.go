package protobuf

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weftrpc/weft/codec/internal/cycle"
	"github.com/weftrpc/weft/codec/internal/room"
)

const (
	// leastCounted is the shortest body whose messages are counted: those of a shorter one are too few, unless each takes 4 KiB.
	leastCounted = 16 << 10
	// sizePointer is what a list holds for each message, sizeEntry what a map holds beside a value, and sizeOneof the wrapper of a
	// member of a oneof; sizeDynamic is a message that has no Go type of its own.
	sizePointer = 8
	sizeEntry   = 32
	sizeOneof   = 16
	sizeDynamic = 256
)

// maxRoots is of how many types the roots are kept: a program may make descriptors without end.
const maxRoots = 1024

// rooms know how much memory the messages of types take.
type rooms struct {
	mu    sync.Mutex
	roots map[rootKey]*root
}

// rootKey is the type of a message, which dynamic messages of all descriptors share, and its descriptor.
type rootKey struct {
	t reflect.Type
	d protoreflect.MessageDescriptor
}

// root is what is known of the type of a message.
type root struct {
	shape      *shape
	most       int64 // the largest room that one message in it takes
	extensions int   // how many were registered then
}

// rootOf returns the root of the type of m.
func (r *rooms) rootOf(m proto.Message) *root {
	key, extensions := rootKey{reflect.TypeOf(m), m.ProtoReflect().Descriptor()}, protoregistry.GlobalTypes.NumExtensions()
	r.mu.Lock()
	known := r.roots[key]
	r.mu.Unlock()
	if known != nil && known.extensions == extensions {
		return known
	}
	shapes := make(map[protoreflect.FullName]*shape)
	made := &root{shape: shapeOf(m.ProtoReflect().New(), shapes), extensions: extensions}
	for _, s := range shapes {
		for _, p := range s.places {
			made.most = max(made.most, p.each)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.roots == nil || len(r.roots) >= maxRoots {
		r.roots = make(map[rootKey]*root)
	}
	r.roots[key] = made
	return made
}

// shape is how messages of a type are made.
type shape struct {
	size   int64 // of one, without those in it
	places map[protowire.Number]place
}

// place is a field whose values are messages, or entries with messages. What other fields take is at most twelve times what they have
// on the wire.
type place struct {
	shape *shape
	each  int64 // what one value takes
}

// check returns an error for a body whose messages take more memory than package room allows: an empty one has two bytes on the wire. What
// is wrong with the body otherwise is found when it is decoded into m.
func (r *rooms) check(body []byte, m proto.Message) error {
	k, most := r.rootOf(m), room.For(len(body))
	if int64(len(body)/2)*k.most <= most {
		return nil
	}
	c := counter{body: body, left: most}
	if c.message(k.shape, 0, len(body), 0, cycle.MaxDepth); c.left < 0 {
		return room.Error(len(body))
	}
	return nil
}

// shapeOf returns the shape of m, which is empty. shapes are those that are known.
func shapeOf(m protoreflect.Message, shapes map[protoreflect.FullName]*shape) *shape {
	d := m.Descriptor()
	if known := shapes[d.FullName()]; known != nil {
		return known
	}
	s := &shape{size: sizeDynamic, places: make(map[protowire.Number]place)}
	shapes[d.FullName()] = s
	if t := reflect.TypeOf(m.Interface()); t != reflect.TypeFor[*dynamicpb.Message]() && t.Kind() == reflect.Pointer {
		s.size = int64(t.Elem().Size())
	}
	for i := range d.Fields().Len() {
		if fd := d.Fields().Get(i); fd.Message() != nil {
			s.places[fd.Number()] = placeOf(fd, m.NewField(fd), shapes)
		}
	}
	var extensions []protoreflect.ExtensionType // which are looked at without the lock of the registry, for that needs the lock again
	protoregistry.GlobalTypes.RangeExtensionsByMessage(d.FullName(), func(x protoreflect.ExtensionType) bool {
		extensions = append(extensions, x)
		return true
	})
	for _, x := range extensions {
		if fd := x.TypeDescriptor(); fd.Message() != nil {
			s.places[fd.Number()] = placeOf(fd, x.New(), shapes)
		}
	}
	return s
}

// placeOf is the place of a field, of which v is a value.
func placeOf(fd protoreflect.FieldDescriptor, v protoreflect.Value, shapes map[protoreflect.FullName]*shape) place {
	switch {
	case fd.IsMap():
		entry := &shape{places: make(map[protowire.Number]place)}
		p := place{shape: entry, each: sizeEntry}
		if value := fd.MapValue(); value.Message() != nil {
			of := shapeOf(v.Map().NewValue().Message(), shapes)
			entry.places[value.Number()] = place{shape: of} // there is one with each entry
			p.each += of.size
		}
		return p
	case fd.IsList():
		of := shapeOf(v.List().NewElement().Message(), shapes)
		return place{shape: of, each: of.size + sizePointer}
	}
	of := shapeOf(v.Message(), shapes)
	p := place{shape: of, each: of.size}
	if fd.ContainingOneof() != nil {
		p.each += sizeOneof
	}
	return p
}

// counter counts the room that the messages of a body take.
type counter struct {
	body []byte
	left int64 // below zero: they take too much
}

// message counts what is in the message of a shape that reaches from i to end, or to the end of a group if that is not 0. It returns
// where the message ended, or failed.
func (c *counter) message(s *shape, i, end int, group protowire.Number, depth int) int {
	const failed = -1
	if depth == 0 {
		return failed
	}
	for i < end && c.left >= 0 {
		number, kind, n := protowire.ConsumeTag(c.body[i:end])
		if n < 0 {
			return failed
		}
		i += n
		if kind == protowire.EndGroupType && number == group {
			return i
		}
		p, known := s.places[number]
		switch {
		case known && kind == protowire.StartGroupType:
			c.left -= p.each
			if i = c.message(p.shape, i, end, number, depth-1); i < 0 {
				return failed
			}
			continue
		case known && kind == protowire.BytesType:
			value, n := protowire.ConsumeBytes(c.body[i:end])
			if n < 0 {
				return failed
			}
			c.left -= p.each
			if i += n; len(p.shape.places) > 0 && c.message(p.shape, i-len(value), i, 0, depth-1) < 0 {
				return failed
			}
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, c.body[i:end]); n < 0 {
			return failed
		}
		i += n
	}
	return i
}
