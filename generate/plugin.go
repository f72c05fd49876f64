package generate

import (
	"errors"
	"path"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/origin"
	"github.com/weftrpc/weft/generate/internal/wirename"
)

// declared notes the names that protoc-gen-go declares.
func (s *protoSource) declared(messages []*protogen.Message, enums []*protogen.Enum) {
	for _, m := range messages {
		s.f.imports.Declared[m.GoIdent.GoName] = true
		s.declared(m.Messages, m.Enums)
	}
	for _, e := range enums {
		s.f.imports.Declared[e.GoIdent.GoName] = true
	}
}

// Plugin generates for the files of a request of protoc or buf: clients and register
// functions for the messages of protoc-gen-go, whose package they are in.
func Plugin(gen *protogen.Plugin) error {
	var errs []error
	methods := make(wirename.Methods)
	for _, f := range gen.Files {
		if !f.Generate || len(f.Services) == 0 {
			continue
		}
		messages := make(map[protoreflect.FullName]protogen.GoIdent)
		for _, svc := range f.Services {
			for _, m := range svc.Methods {
				messages[m.Input.Desc.FullName()], messages[m.Output.Desc.FullName()] = m.Input.GoIdent, m.Output.GoIdent
			}
		}
		source := path.Base(f.Desc.Path())
		s := &protoSource{d: f.Desc, places: make(map[string]string), f: &file{source: source, header: origin.PluginHeader(source), pkg: string(f.GoPackageName), imports: names.NewImports()}}
		s.declared(f.Messages, f.Enums)
		s.ident = func(d protoreflect.Descriptor) string {
			id := messages[d.FullName()]
			if id.GoImportPath == f.GoImportPath {
				return id.GoName
			}
			name := names.Package(string(id.GoImportPath[strings.LastIndexByte(string(id.GoImportPath), '/')+1:]))
			return s.f.imports.Use(string(id.GoImportPath), name) + "." + id.GoName
		}
		s.services()
		for _, svc := range s.f.services {
			errs = append(errs, methods.Add(svc.pos, path.Dir(f.GeneratedFilenamePrefix), svc.name, svc.wireNames()))
		}
		content, err := s.f.print()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out := gen.NewGeneratedFile(f.GeneratedFilenamePrefix+"_weft.go", f.GoImportPath)
		if _, err := out.Write(content); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
