// Package descriptors describes the Go types that package protobuf encodes as .proto files do: as
// descriptors of Protocol Buffers, for the reflection of gRPC and for programs in other languages.
//
// A generated message is described by its own descriptor. A struct becomes a message of the file
// "go/<import path>.proto", whose package is the import path with dots for slashes and an underscore
// for each character that cannot be part of a name: Order of github.com/acme/shop is
// github_com.acme.shop.Order. A struct without a name has the name of the place where it is, and is in the file of the struct
// around it. A time.Time is a google.protobuf.Timestamp, a time.Duration a google.protobuf.Duration, an any a
// google.protobuf.Value, and struct{} is google.protobuf.Empty.
//
// A field has the number with which package protobuf encodes it. Its name is that in JSON, or in Go, in
// lower case with underscores, and its name in JSON is the one that encoding/json gives it: Protocol Buffers' JSON
// accepts both.
package descriptors

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weftrpc/weft/codec/internal/numbered"
)

// Set collects the messages of Go types, and what describes them. It is for one goroutine at a time.
type Set struct {
	messages map[key]Message
	taken    map[string]bool  // full names of messages that are made here
	made     map[string]*file // by path
	own      map[string]protoreflect.FileDescriptor
}

// key is a type that is described. One without a name has a message in the file of each struct around it: in a file of its own it could need
// those that need it, and files must not import each other.
type key struct {
	t    reflect.Type
	file string // the path, of a type without a name
}

// Message is where the message of a type is described.
type Message struct {
	Name string // such as "helloworld.HelloRequest"
	File string // the path of the file that it is in
}

// file is one that is made here.
type file struct {
	d       *descriptorpb.FileDescriptorProto
	imports map[string]bool
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{messages: make(map[key]Message), taken: make(map[string]bool),
		made: make(map[string]*file), own: make(map[string]protoreflect.FileDescriptor)}
}

// Add adds the message of a type, a struct or a pointer to one; place names what has no name in Go, such
// as "HelloRequest". The error says that values of the type are no messages.
func (s *Set) Add(t reflect.Type, place string) (_ Message, err error) {
	if t == nil {
		return Message{}, errors.New("descriptors: the type is nil")
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if m, ok := s.messages[key{t: t}]; ok {
		return m, nil
	}
	defer func() { // code that was generated for an older library may panic
		if r := recover(); r != nil {
			err = fmt.Errorf("descriptors: a %s has no descriptor: %v", t, r)
		}
	}()
	if d := generated(t); d != nil {
		m := Message{string(d.FullName()), d.ParentFile().Path()}
		s.messages[key{t: t}] = m
		return m, s.include(d.ParentFile())
	}
	if !numbered.Takes(t) {
		return Message{}, fmt.Errorf("descriptors: a %s is no message of Protocol Buffers", t)
	}
	d, err := numbered.Describe(t)
	if err != nil {
		return Message{}, fmt.Errorf("descriptors: %w", err)
	}
	return s.message(d, place, nil)
}

// generated is the descriptor of a type of generated messages; nil for other types.
func generated(t reflect.Type) protoreflect.MessageDescriptor {
	if t == reflect.TypeFor[struct{}]() {
		return (*emptypb.Empty)(nil).ProtoReflect().Descriptor()
	}
	switch m := reflect.New(t).Interface().(type) {
	case proto.Message:
		return m.ProtoReflect().Descriptor()
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m).ProtoReflect().Descriptor()
	}
	return nil
}

// include adds a file that describes generated code, and those that it imports. Two that share a path are an
// error, since a program can be told of one of them alone.
func (s *Set) include(d protoreflect.FileDescriptor) error {
	if known := s.own[d.Path()]; known != nil {
		if known != d && !proto.Equal(protodesc.ToFileDescriptorProto(known), protodesc.ToFileDescriptorProto(d)) {
			return fmt.Errorf("descriptors: two files have the path %s", d.Path())
		}
		return nil
	}
	s.own[d.Path()] = d
	for i := range d.Imports().Len() {
		imported := d.Imports().Get(i).FileDescriptor
		if imported.IsPlaceholder() {
			return fmt.Errorf("descriptors: %s imports %s, which is not part of the program", d.Path(), imported.Path())
		}
		if err := s.include(imported); err != nil {
			return err
		}
	}
	return nil
}

// Include adds the file of a generated service or message.
func (s *Set) Include(d protoreflect.FileDescriptor) error { return s.include(d) }

// message describes a struct; f is the file of the struct around it, or nil.
func (s *Set) message(d *numbered.Message, place string, f *file) (Message, error) {
	if d.Type == reflect.TypeFor[struct{}]() {
		return s.Add(d.Type, place)
	}
	if d.Type.Name() != "" || f == nil {
		in := packageOf(d.Type)
		f = s.file("go/"+orMain(in)+".proto", identifiers(orMain(in)))
	}
	k := key{t: d.Type}
	if d.Type.Name() == "" {
		k.file = f.d.GetName()
	}
	if m, ok := s.messages[k]; ok {
		return m, nil
	}
	name := s.free(f.d.GetPackage(), nameOf(d.Type, place))
	m := Message{f.d.GetPackage() + "." + name, f.d.GetName()}
	s.messages[k] = m // before its fields, which may refer to it
	out := &descriptorpb.DescriptorProto{Name: &name}
	f.d.MessageType = append(f.d.MessageType, out)
	for _, field := range d.Fields {
		if err := s.field(f, out, &field, m.Name, place); err != nil {
			return Message{}, err
		}
	}
	synthetic(out)
	return m, nil
}

// file returns the file with a path.
func (s *Set) file(path, pkg string) *file {
	f := s.made[path]
	if f == nil {
		f = &file{&descriptorpb.FileDescriptorProto{Name: &path, Package: &pkg, Syntax: proto.String("proto3")}, make(map[string]bool)}
		s.made[path] = f
	}
	return f
}

// needs notes that the file imports another.
func (f *file) needs(path string) {
	if path != f.d.GetName() && !f.imports[path] {
		f.imports[path] = true
		f.d.Dependency = append(f.d.Dependency, path)
	}
}

// free is the name for a type in a package that is not taken by another type.
func (s *Set) free(pkg, name string) string {
	for n, try := 2, name; ; n++ {
		if full := pkg + "." + try; !s.taken[full] {
			s.taken[full] = true
			return try
		}
		try = fmt.Sprintf("%s_%d", name, n)
	}
}

// field describes a field of the message out, whose full name is whole.
func (s *Set) field(f *file, out *descriptorpb.DescriptorProto, d *numbered.Field, whole, place string) error {
	var others []string
	for _, other := range out.Field {
		others = append(others, other.GetName())
	}
	name := FieldName(d.JSON, d.Name, others)
	p := &descriptorpb.FieldDescriptorProto{Name: &name, JsonName: proto.String(d.JSON), Number: proto.Int32(int32(d.Number)),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	inner := nameOrPlace(out.GetName(), place) + "_" + d.Name
	switch d.Form {
	case numbered.List:
		p.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	case numbered.Optional:
		if d.Value.Kind != protoreflect.MessageKind {
			p.Proto3Optional = proto.Bool(true)
		}
	case numbered.Map:
		entry := &descriptorpb.DescriptorProto{Name: proto.String(camel(name, true) + "Entry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}}
		for i, v := range []numbered.Value{d.Key, d.Value} {
			part := &descriptorpb.FieldDescriptorProto{Name: proto.String([]string{"key", "value"}[i]), JsonName: proto.String([]string{"key", "value"}[i]),
				Number: proto.Int32(int32(i + 1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if err := s.value(f, part, &v, inner); err != nil {
				return err
			}
			entry.Field = append(entry.Field, part)
		}
		out.NestedType = append(out.NestedType, entry)
		p.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		p.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		p.TypeName = proto.String("." + whole + "." + entry.GetName())
		out.Field = append(out.Field, p)
		return nil
	}
	if err := s.value(f, p, &d.Value, inner); err != nil {
		return err
	}
	out.Field = append(out.Field, p)
	return nil
}

// value gives a field the type of its values.
func (s *Set) value(f *file, p *descriptorpb.FieldDescriptorProto, v *numbered.Value, place string) error {
	p.Type = descriptorpb.FieldDescriptorProto_Type(v.Kind).Enum()
	if v.Kind != protoreflect.MessageKind {
		return nil
	}
	var m Message
	var err error
	switch {
	case v.Known == "google.protobuf.Timestamp":
		m, err = s.Add(reflect.TypeFor[timestamppb.Timestamp](), "")
	case v.Known == "google.protobuf.Duration":
		m, err = s.Add(reflect.TypeFor[durationpb.Duration](), "")
	case v.Known == "google.protobuf.Value":
		m, err = s.Add(reflect.TypeFor[structpb.Value](), "")
	default:
		m, err = s.message(v.Message, place, f)
	}
	if err != nil {
		return err
	}
	f.needs(m.File)
	p.TypeName = proto.String("." + m.Name)
	return nil
}

// synthetic gives each optional field the oneof that descriptors of proto3 have for it.
func synthetic(m *descriptorpb.DescriptorProto) {
	for _, f := range m.Field {
		if f.GetProto3Optional() {
			name := "_" + f.GetName()
			for hasField(m, name) {
				name += "_"
			}
			f.OneofIndex = proto.Int32(int32(len(m.OneofDecl)))
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: &name})
		}
	}
}

func hasField(m *descriptorpb.DescriptorProto, name string) bool {
	return slices.ContainsFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })
}

// Made returns the files of the structs that were added, which are those that no generated code describes.
func (s *Set) Made() []*descriptorpb.FileDescriptorProto {
	all := make([]*descriptorpb.FileDescriptorProto, 0, len(s.made))
	for _, f := range s.made {
		all = append(all, f.d)
	}
	slices.SortFunc(all, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

// Included returns the files of the generated messages that were added, with those that they import.
func (s *Set) Included() []protoreflect.FileDescriptor {
	all := make([]protoreflect.FileDescriptor, 0, len(s.own))
	for _, d := range s.own {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	return all
}

// Files returns all files, linked, with more that import them. A file that does not fit the others is left
// out, and is named in the error.
func (s *Set) Files(more ...*descriptorpb.FileDescriptorProto) (*protoregistry.Files, error) {
	l := &linker{files: new(protoregistry.Files), open: make(map[string]*descriptorpb.FileDescriptorProto)}
	for _, d := range s.Included() {
		l.note(d.Path(), l.files.RegisterFile(d))
	}
	all := append(s.Made(), more...)
	for _, d := range all {
		l.open[d.GetName()] = d
	}
	for _, d := range all {
		l.link(d)
	}
	return l.files, errors.Join(l.wrong...)
}

// linker links files behind those that they import.
type linker struct {
	files *protoregistry.Files
	open  map[string]*descriptorpb.FileDescriptorProto // not linked yet, by path
	wrong []error
}

func (l *linker) note(path string, err error) {
	if err != nil {
		l.wrong = append(l.wrong, fmt.Errorf("descriptors: %s: %w", path, err))
	}
}

func (l *linker) link(d *descriptorpb.FileDescriptorProto) {
	if l.open[d.GetName()] == nil {
		return
	}
	delete(l.open, d.GetName())
	for _, path := range d.Dependency {
		if other := l.open[path]; other != nil {
			l.link(other)
		}
	}
	file, err := protodesc.NewFile(d, l.files)
	if err == nil {
		err = l.files.RegisterFile(file)
	}
	l.note(d.GetName(), err)
}
