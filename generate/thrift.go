package generate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/origin"
	"github.com/weftrpc/weft/generate/internal/thriftidl"
)

// fromThrift generates for a .thrift file: its services and all that it defines.
func fromThrift(cfg Config, name string) (Output, error) {
	loader := thriftidl.Loader{Folders: cfg.ImportPath}
	d, err := loader.Load(cfg.path(name))
	if err != nil {
		return Output{}, err
	}
	s := &thriftSource{d: d, cfg: cfg, packages: make(map[string]goPlace), names: make(map[string]string)}
	own, err := s.place(d)
	if err != nil {
		return Output{}, err
	}
	s.f = &file{source: filepath.Base(name), pkg: own.name, imports: names.NewImports(), thrift: s}
	if err := errors.Join(s.check()...); err != nil {
		return Output{}, err
	}
	var services []*service
	for _, x := range d.Services {
		services = append(services, s.service(x))
	}
	content, err := s.f.print()
	if err == nil && len(s.errs) > 0 {
		err = errors.Join(s.errs...)
	}
	if err == nil && content == nil {
		err = fmt.Errorf("%s defines nothing", name)
	}
	return Output{Name: origin.Output(cfg.path(name)), Content: content, services: services, places: s.names}, err
}

// thriftSource is one .thrift file.
type thriftSource struct {
	d        *thriftidl.Document
	cfg      Config
	f        *file
	packages map[string]goPlace // by the path of a document
	names    map[string]string  // of this file in Go, and where they are
	errs     []error            // what has no form in Go
}

// goPlace is where the code of a document is.
type goPlace struct{ folder, path, name string }

// fail notes what has no form in Go.
func (s *thriftSource) fail(pos thriftidl.Pos, format string, args ...any) {
	s.errs = append(s.errs, &thriftidl.Error{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// place finds the Go package of a document: the folder in which it is, since its code is beside it.
func (s *thriftSource) place(d *thriftidl.Document) (goPlace, error) {
	if known, ok := s.packages[d.Path]; ok {
		return known, nil
	}
	folder, err := filepath.Abs(filepath.Dir(d.Path))
	if err != nil {
		return goPlace{}, err
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	p := goPlace{folder: folder}
	switch namespace := d.Namespace("go"); {
	case namespace != "":
		p.name = names.Package(namespace[strings.LastIndexByte(namespace, '.')+1:])
	case s.cfg.Package != "" && (d == s.d || folder == s.packages[s.d.Path].folder):
		p.name = s.cfg.Package
	default:
		p.name = names.Package(filepath.Base(folder))
	}
	p.path = names.ImportPath(folder)
	s.packages[d.Path] = p
	return p, nil
}

// qualified is a Go name of a document, as this file has it.
func (s *thriftSource) qualified(d *thriftidl.Document, name string, pos thriftidl.Pos) string {
	if d == s.d {
		return name
	}
	own, _ := s.place(s.d)
	there, err := s.place(d)
	switch {
	case err != nil:
		s.fail(pos, "%v", err)
	case there.folder == own.folder:
		if there.name != own.name {
			s.fail(pos, "%s is in the same folder and has another Go package, %s: give both files the same \"namespace go\"", d.Path, there.name)
		}
		return name
	case there.path == "":
		s.fail(pos, "the Go package of %s is not known: no go.mod is in its folder or above", d.Path)
	}
	return s.f.imports.Use(there.path, there.name) + "." + name
}

// check gives each definition its name in Go, which must be another than those of all others.
func (s *thriftSource) check() []error {
	for _, e := range s.d.Enums {
		name := names.Exported(e.Name)
		s.claim(name, e.Pos)
		for _, v := range e.Values {
			s.claim(name+"_"+v.Name, v.Pos)
		}
	}
	for _, t := range s.d.Typedefs {
		s.claim(names.Exported(t.Name), t.Pos)
	}
	for _, x := range s.d.Structs {
		s.claim(names.Exported(x.Name), x.Pos)
		if x.HasDefaults() {
			s.claim("New"+names.Exported(x.Name), x.Pos)
		}
		s.fieldNames(x.Fields, "the "+x.Kind.String()+" "+x.Name, x.Kind)
	}
	for _, c := range s.d.Consts {
		s.claim(names.Exported(c.Name), c.Pos)
	}
	for _, x := range s.d.Services {
		name := names.Exported(x.Name)
		for _, n := range []string{name, name + "Client", "New" + name + "Client", "Register" + name} {
			s.claim(n, x.Pos)
		}
		for _, f := range x.Functions {
			if len(f.Params) > 0 {
				s.claim(name+names.Exported(f.Name)+"Args", f.Pos)
			}
			if f.ReturnsEmpty() {
				s.claim(name+names.Exported(f.Name)+"Result", f.Pos)
			}
			s.fieldNames(f.Params, "the function "+x.Name+"."+f.Name, thriftidl.Plain)
		}
		seen := make(map[string]string)
		for _, f := range x.All() {
			n := names.Exported(f.Name)
			if n == optionsMethod {
				s.fail(f.Pos, "the function %s of %s is %s in Go, as the method of every client is that adds options: rename it", f.Name, x.Name, n)
			}
			if other, ok := seen[n]; ok {
				s.fail(f.Pos, "the functions %s and %s of %s are both %s in Go: rename one", other, f.Name, x.Name, n)
			}
			seen[n] = f.Name
		}
		if x.Throws() {
			s.claim(name+"Exceptions", x.Pos)
		}
		s.annotations(x)
	}
	return s.errs
}

// claim notes a name of this file in Go.
func (s *thriftSource) claim(name string, pos thriftidl.Pos) {
	if at, ok := s.names[name]; ok {
		s.fail(pos, "%s is its name in Go, which what is defined at %s has already: rename one", name, at)
		return
	}
	s.names[name] = pos.String()
}

func (s *thriftSource) fieldNames(all []*thriftidl.Field, where string, kind thriftidl.StructKind) {
	seen := make(map[string]string)
	for _, f := range all {
		name := fieldName(f, kind)
		if other, ok := seen[name]; ok {
			s.fail(f.Pos, "the fields %s and %s of %s are both %s in Go: rename one", other, f.Name, where, name)
		}
		seen[name] = f.Name
		if kind == thriftidl.Union && f.Value != nil {
			s.fail(f.Pos, "a field of a union has no default in Go: leave it out")
		}
	}
	for _, f := range all {
		if !readable(f, kind) {
			continue
		}
		if other, ok := seen["Get"+fieldName(f, kind)]; ok {
			s.fail(f.Pos, "the field %s of %s has the name of the method in Go that reads the field %s: rename one", other, where, f.Name)
		}
	}
}

// fieldName is the name of a field in Go. Exceptions have a method Error.
func fieldName(f *thriftidl.Field, kind thriftidl.StructKind) string {
	name := names.Exported(f.Name)
	if kind == thriftidl.Exception && name == "Error" {
		return "Error_"
	}
	return name
}

// The annotations for this package.
const (
	serviceAnnotation    = "weft.service"
	idempotentAnnotation = "weft.idempotent"
)

// annotations refuses annotations that look like those of weft and are none.
func (s *thriftSource) annotations(x *thriftidl.Service) {
	check := func(all thriftidl.Annotations, known string) {
		for _, a := range all {
			if strings.HasPrefix(a.Name, "weft.") && a.Name != known {
				s.fail(a.Pos, "there is no annotation %s here: expected %s", a.Name, known)
			}
		}
	}
	check(x.Annotations, serviceAnnotation)
	for _, f := range x.Functions {
		check(f.Annotations, idempotentAnnotation)
	}
}

// typ is a type in Go, as the element of a container has it.
func (s *thriftSource) typ(t *thriftidl.Type) string {
	if t.Kind == thriftidl.Named {
		return s.qualified(t.Document, names.Exported(t.Name[strings.LastIndexByte(t.Name, '.')+1:]), t.Pos)
	}
	switch t.Kind {
	case thriftidl.Bool:
		return "bool"
	case thriftidl.I8:
		return "int8"
	case thriftidl.I16:
		return "int16"
	case thriftidl.I32:
		return "int32"
	case thriftidl.I64:
		return "int64"
	case thriftidl.Double:
		return "float64"
	case thriftidl.String:
		return "string"
	case thriftidl.Binary:
		return "[]byte"
	case thriftidl.UUID:
		return s.thrift() + ".UUID"
	case thriftidl.List:
		return "[]" + s.typ(t.Elem)
	case thriftidl.Set:
		return s.thrift() + ".Set[" + s.typ(t.Elem) + "]"
	}
	key := s.typ(t.Key)
	switch u := t.Key.Underlying(); {
	case u.Kind == thriftidl.Binary:
		key = s.thrift() + ".BinaryKey"
	case u.Kind > thriftidl.UUID && u.Enum == nil:
		s.fail(t.Key.Pos, "a map with keys of the type %s has no form in Go: expected a number, a text, a bool, an enum or a uuid", t.Key)
	}
	return "map[" + key + "]" + s.typ(t.Elem)
}

// thrift names the package door/thrift, and imports it.
func (s *thriftSource) thrift() string { return s.f.imports.Use(names.Thrift, "thrift") }

// variable is a type in Go, as a parameter or a result has it.
func (s *thriftSource) variable(t *thriftidl.Type) string {
	if t.IsStruct() {
		return "*" + s.typ(t)
	}
	return s.typ(t)
}

// absent reports whether a field may be missing, and what stands for that is nil.
func absent(f *thriftidl.Field, kind thriftidl.StructKind) bool {
	return kind == thriftidl.Union || f.Need == thriftidl.Optional || f.Need == thriftidl.Default && f.Value != nil
}

// readable reports whether a field has a method in Go that reads it: one that may be nil and then stands for a value.
func readable(f *thriftidl.Field, kind thriftidl.StructKind) bool {
	return absent(f, kind) && (f.Type.IsScalar() || f.Value != nil)
}

// fieldType is the type of a field in Go.
func (s *thriftSource) fieldType(f *thriftidl.Field, kind thriftidl.StructKind) string {
	if f.Type.IsScalar() && absent(f, kind) {
		return "*" + s.typ(f.Type)
	}
	return s.variable(f.Type)
}
