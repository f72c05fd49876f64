package generate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/origin"
	"github.com/weftrpc/weft/generate/internal/protofile"
)

// fromProto generates for a .proto file: its services, and its messages as structs.
func fromProto(ctx context.Context, cfg Config, name string) (Output, error) {
	d, err := protofile.Load(ctx, cfg.Dir, cfg.ImportPath, name)
	if err != nil {
		return Output{}, err
	}
	pkg := cfg.Package
	if _, option := protofile.GoPackage(d); option != "" {
		if err := names.CheckPackage(option); err != nil {
			return Output{}, fmt.Errorf("%s: the option go_package: %w", name, err)
		}
		pkg = option
	}
	if pkg == "" {
		folder, err := filepath.Abs(filepath.Dir(cfg.path(name)))
		if err != nil {
			return Output{}, err
		}
		pkg = names.Package(filepath.Base(folder))
	}
	s := &protoSource{d: d, places: make(map[string]string), f: &file{source: filepath.Base(name), pkg: pkg, imports: names.NewImports()}}
	s.ident = s.plain
	err = s.messages(cfg.Codec)
	s.services()
	for _, text := range s.wrong {
		err = errors.Join(err, errors.New(text))
	}
	if err != nil {
		return Output{}, err
	}
	content, err := s.f.print()
	if err == nil && content == nil {
		err = fmt.Errorf("%s has neither services nor messages", name)
	}
	return Output{Name: origin.Output(cfg.path(name)), Content: content, services: s.f.services, places: s.places}, err
}

// protoSource reads one .proto file.
type protoSource struct {
	d      protoreflect.FileDescriptor
	f      *file
	ident  func(protoreflect.Descriptor) string // the Go type of a message or an enumeration
	wrong  []string                             // with what it imports
	places map[string]string                    // of its services, messages and enumerations, by their names in Go
}

// plain is ident for messages that are structs of this package.
func (s *protoSource) plain(d protoreflect.Descriptor) string {
	in := d.ParentFile()
	name := names.Exported(strings.TrimPrefix(string(d.FullName()), string(in.Package())+"."))
	own, _ := protofile.GoPackage(s.d)
	importPath, pkg := protofile.GoPackage(in)
	switch {
	case in.Path() == s.d.Path():
		s.places[name] = protofile.Pos(d)
		return name
	case importPath == own && (own != "" || in.Package() == s.d.Package()):
		return name
	case importPath == "":
		text := fmt.Sprintf("%s: %s has no option go_package to say where its Go code is: give it one", protofile.ImportPos(s.d, in), in.Path())
		if !slices.Contains(s.wrong, text) {
			s.wrong = append(s.wrong, text)
		}
		return name
	}
	return s.f.imports.Use(importPath, pkg) + "." + name
}

// services reads the services of the file.
func (s *protoSource) services() {
	all := s.d.Services()
	for i := range all.Len() {
		d := all.Get(i)
		svc := &service{name: string(d.FullName()), goName: names.Exported(string(d.Name())), pos: protofile.Pos(d), doc: protofile.Comment(d)}
		for k := range d.Methods().Len() {
			svc.methods = append(svc.methods, s.method(d.Methods().Get(k)))
		}
		s.f.services, s.places[svc.goName] = append(s.f.services, svc), svc.pos
	}
}

func (s *protoSource) method(d protoreflect.MethodDescriptor) *method {
	m := &method{name: names.Exported(string(d.Name())), wireName: string(d.Name()), doc: protofile.Comment(d), req: s.ident(d.Input()), res: s.ident(d.Output())}
	switch {
	case d.IsStreamingClient() && d.IsStreamingServer():
		m.kind = bidiStream
	case d.IsStreamingClient():
		m.kind = clientStream
	case d.IsStreamingServer():
		m.kind = serverStream
	}
	if options, ok := d.Options().(*descriptorpb.MethodOptions); ok {
		m.idempotent = options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
	}
	return m
}

// messages reads the messages and enumerations of the file.
func (s *protoSource) messages(codec bool) error {
	s.enums(s.d.Enums())
	err := s.records(s.d.Messages())
	if codec {
		s.f.coded = s.f.structs
	}
	return err
}

func (s *protoSource) enums(all protoreflect.EnumDescriptors) {
	for i := range all.Len() {
		d := all.Get(i)
		name := s.plain(d)
		e := &enum{name: name, doc: protofile.Comment(d)}
		prefix := name
		if outer, ok := d.Parent().(protoreflect.MessageDescriptor); ok { // as protoc-gen-go has it
			prefix = s.plain(outer)
		}
		for k := range d.Values().Len() {
			v := d.Values().Get(k)
			e.values = append(e.values, enumValue{prefix + "_" + string(v.Name()), protofile.Comment(v), int32(v.Number())})
		}
		s.f.enums = append(s.f.enums, e)
	}
}

func (s *protoSource) records(all protoreflect.MessageDescriptors) error {
	var errs []error
	for i := range all.Len() {
		d := all.Get(i)
		if d.IsMapEntry() {
			continue
		}
		name := s.plain(d)
		r := &record{name: name, doc: protofile.Comment(d)}
		if d.Fields().Len() == 0 {
			// A struct without fields would be no message of Protocol Buffers.
			r.fields = append(r.fields, &field{name: "Nothing", json: "nothing", doc: "Nothing makes the struct a message; the message has no fields.", number: 1 << 28, form: &form{kind: formBool, typ: "bool"}})
		}
		for k := range d.Fields().Len() {
			fd := d.Fields().Get(k)
			f, err := s.form(fd)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: the field %s: %w", protofile.Pos(fd), fd.FullName(), err))
				continue
			}
			var more []string
			if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
				more = append(more, fmt.Sprintf("Of the fields of %s at most one is set.", o.Name()))
			}
			r.fields = append(r.fields, &field{name: names.Exported(string(fd.Name())), doc: protofile.Comment(fd, more...), json: fd.JSONName(), number: int(fd.Number()), form: f})
		}
		s.f.structs = append(s.f.structs, r)
		s.enums(d.Enums())
		errs = append(errs, s.records(d.Messages()))
	}
	return errors.Join(errs...)
}

// form finds out how a field is encoded, and its Go type.
func (s *protoSource) form(fd protoreflect.FieldDescriptor) (*form, error) {
	if fd.IsMap() {
		key, err := s.single(fd.MapKey())
		if err != nil {
			return nil, err
		}
		value, err := s.single(fd.MapValue())
		if err != nil {
			return nil, err
		}
		if key.tag != "" {
			return nil, fmt.Errorf("keys of the kind %s have no struct tag", fd.MapKey().Kind())
		}
		return &form{kind: formMap, typ: "map[" + key.typ + "]" + value.typ, elem: value}, nil
	}
	f, err := s.single(fd)
	switch {
	case err != nil:
		return nil, err
	case fd.IsList():
		return &form{kind: formList, typ: "[]" + f.typ, elem: f}, nil
	case f.kind == formStruct || fd.HasPresence() && f.kind != formTime && f.kind != formAny:
		return &form{kind: formPointer, typ: "*" + f.typ, elem: f}, nil
	}
	return f, nil
}

// single is form for one value.
func (s *protoSource) single(fd protoreflect.FieldDescriptor) (*form, error) {
	number := func(kind formKind, typ, tag string, bits int) (*form, error) {
		return &form{kind: kind, typ: typ, tag: tag, bits: bits, unsigned: strings.HasPrefix(typ, "u")}, nil
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return &form{kind: formBool, typ: "bool"}, nil
	case protoreflect.StringKind:
		return &form{kind: formText, typ: "string"}, nil
	case protoreflect.BytesKind:
		return &form{kind: formBytes, typ: "[]byte"}, nil
	case protoreflect.EnumKind:
		return &form{kind: formInt, typ: s.plain(fd.Enum()), bits: 32}, nil
	case protoreflect.Int32Kind:
		return number(formInt, "int32", "", 32)
	case protoreflect.Int64Kind:
		return number(formInt, "int64", "", 64)
	case protoreflect.Sint32Kind:
		return number(formZigzag, "int32", "zigzag", 32)
	case protoreflect.Sint64Kind:
		return number(formZigzag, "int64", "zigzag", 64)
	case protoreflect.Uint32Kind:
		return number(formUint, "uint32", "", 32)
	case protoreflect.Uint64Kind:
		return number(formUint, "uint64", "", 64)
	case protoreflect.Fixed32Kind:
		return number(formFixed, "uint32", "fixed", 32)
	case protoreflect.Fixed64Kind:
		return number(formFixed, "uint64", "fixed", 64)
	case protoreflect.Sfixed32Kind:
		return number(formFixed, "int32", "fixed", 32)
	case protoreflect.Sfixed64Kind:
		return number(formFixed, "int64", "fixed", 64)
	case protoreflect.FloatKind:
		return number(formFloat, "float32", "", 32)
	case protoreflect.DoubleKind:
		return number(formFloat, "float64", "", 64)
	case protoreflect.MessageKind:
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			return &form{kind: formTime, typ: s.f.imports.Std("time") + ".Time"}, nil
		case "google.protobuf.Duration":
			return &form{kind: formDuration, typ: s.f.imports.Std("time") + ".Duration"}, nil
		case "google.protobuf.Value":
			return &form{kind: formAny, typ: "any"}, nil
		}
		typ := s.plain(fd.Message())
		if strings.Contains(typ, ".") {
			return nil, fmt.Errorf("%s is of another Go package: generate with protoc-gen-go and protoc-gen-weft", fd.Message().FullName())
		}
		return &form{kind: formStruct, typ: typ, name: typ}, nil
	}
	return nil, fmt.Errorf("a field of the kind %s has no form as a struct", fd.Kind())
}
