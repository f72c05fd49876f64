package generate

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weftrpc/weft/generate/internal/directive"
	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/origin"
	"github.com/weftrpc/weft/generate/internal/source"
	"github.com/weftrpc/weft/generate/internal/wiretag"
)

// fromGo generates for packages of Go. It returns also the outputs in them whose sources are no Go.
func fromGo(ctx context.Context, cfg Config, patterns []string) (all []Output, kept []string, err error) {
	loaded, err := source.Load(ctx, cfg.Dir, patterns)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, pkg := range loaded {
		sources, err := source.Files(pkg)
		errs = append(errs, err)
		for _, src := range sources {
			name := src.Name
			s := &goSource{pkg: pkg, f: &file{source: filepath.Base(name), build: src.Build, pkg: pkg.Name, imports: names.NewImports()}}
			s.declared()
			if err := s.file(src.Syntax, cfg.Codec); err != nil {
				errs = append(errs, err)
				continue
			}
			content, err := s.f.print()
			errs = append(errs, err)
			switch {
			case content != nil:
				all = append(all, Output{Name: origin.Output(name), Content: content, services: s.f.services, notes: s.f.notes()})
			case origin.Has(name):
				why := "has nothing to generate"
				if err := s.file(src.Syntax, true); err != nil || len(s.f.coded) > 0 {
					why += " without -codec"
				}
				all = append(all, stale(name, why))
			}
		}
		if pkg.PkgPath == "command-line-arguments" { // files, not a folder
			continue
		}
		kept = append(kept, origin.Kept(pkg.CompiledGoFiles)...)
		gone, err := origin.Gone(pkg.Dir)
		errs = append(errs, err)
		for _, source := range gone {
			all = append(all, stale(source, "is gone"))
		}
	}
	return all, kept, errors.Join(errs...)
}

// goSource reads one file of a package.
type goSource struct {
	pkg *packages.Package
	f   *file
}

// errorf is an error at a place in the source.
func (s *goSource) errorf(pos token.Pos, format string, args ...any) error {
	return fmt.Errorf("%s: %s", s.pkg.Fset.Position(pos), fmt.Sprintf(format, args...))
}

// declared notes the names that the package declares, without those in generated files.
func (s *goSource) declared() {
	scope := s.pkg.Types.Scope()
	for _, name := range scope.Names() {
		if !strings.HasSuffix(s.pkg.Fset.Position(scope.Lookup(name).Pos()).Filename, origin.Output("")) {
			s.f.imports.Declared[name] = true
		}
	}
}

func (s *goSource) file(syntax *ast.File, codec bool) error {
	errs := []error{directive.Check(s.pkg.Fset, syntax)}
	for t, doc := range directive.Types(syntax) {
		name, marked := directive.Find(doc, directive.Service)
		i, isInterface := t.Type.(*ast.InterfaceType)
		switch {
		case marked && !isInterface:
			errs = append(errs, s.errorf(t.Pos(), "%s is no interface: %s marks interfaces", t.Name.Name, directive.Service))
		case marked && t.Name.Name == "_":
			errs = append(errs, s.errorf(t.Pos(), "a service needs a name: the interface is called _"))
		case marked:
			errs = append(errs, s.service(t, i, doc, name))
		case codec:
			errs = append(errs, s.record(t))
		}
	}
	return errors.Join(errs...)
}

// service reads an interface.
func (s *goSource) service(t *ast.TypeSpec, i *ast.InterfaceType, doc *ast.CommentGroup, name string) error {
	if t.TypeParams != nil {
		return s.errorf(t.Pos(), "%s has type parameters: a service has none", t.Name.Name)
	}
	svc := &service{name: orElse(name, t.Name.Name), goName: t.Name.Name, pos: s.pkg.Fset.Position(t.Pos()).String(), doc: doc.Text(), declared: true}
	var errs []error
	for _, m := range i.Methods.List {
		if len(m.Names) == 0 {
			errs = append(errs, s.errorf(m.Pos(), "%s embeds another interface: list the methods of the service", t.Name.Name))
			continue
		}
		for _, id := range m.Names {
			method, err := s.method(id, m)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			svc.methods = append(svc.methods, method)
		}
	}
	if len(errs) == 0 && len(svc.methods) == 0 {
		errs = append(errs, s.errorf(t.Pos(), "%s has no methods", t.Name.Name))
	}
	s.f.services = append(s.f.services, svc)
	return errors.Join(errs...)
}

// shapes is what the error of a method says that does not fit.
const shapes = `a method of a service is one of
	(ctx context.Context, req *Req) (*Res, error)
	(ctx context.Context, req *Req, res *Res) error
	(ctx context.Context, req *Req) iter.Seq2[*Res, error]
	(ctx context.Context, in iter.Seq2[*Req, error]) (*Res, error)
	(ctx context.Context, in iter.Seq2[*Req, error]) iter.Seq2[*Res, error]`

func (s *goSource) method(id *ast.Ident, f *ast.Field) (*method, error) {
	m := &method{name: id.Name, wireName: id.Name, doc: f.Doc.Text()}
	_, m.idempotent = directive.Find(f.Doc, directive.Idempotent)
	_, m.reuse = directive.Find(f.Doc, directive.Reuse)
	if !id.IsExported() {
		return nil, s.errorf(id.Pos(), "the method %s is not exported", id.Name)
	}
	object, _ := s.pkg.TypesInfo.Defs[id].(*types.Func)
	if object == nil {
		return nil, s.errorf(id.Pos(), "the method %s has no type", id.Name)
	}
	sig := object.Signature()
	in, out := sig.Params(), sig.Results()
	text := strings.TrimPrefix(types.TypeString(sig, s.qualifier), "func")
	if strings.Contains(text, "invalid type") {
		return nil, s.errorf(id.Pos(), "%s%s: a type is not known", id.Name, text)
	}
	unfit := s.errorf(id.Pos(), "%s%s: %s", id.Name, text, shapes)
	if in.Len() < 2 || sig.Variadic() || !source.IsNamed(in.At(0).Type(), "context", "Context") || out.Len() == 0 {
		return nil, unfit
	}
	req, res := s.pointee(in.At(1).Type()), ""
	streamed := s.sequence(in.At(1).Type())
	last := out.At(out.Len() - 1).Type()
	fails := types.Identical(last, types.Universe.Lookup("error").Type())
	if out.Len() == 2 {
		res = s.pointee(out.At(0).Type())
	}
	switch {
	case in.Len() == 2 && out.Len() == 2 && fails && req != "" && res != "":
		m.kind, m.req, m.res = unary, req, res
	case in.Len() == 3 && out.Len() == 1 && fails && req != "" && s.pointee(in.At(2).Type()) != "":
		m.kind, m.req, m.res = filling, req, s.pointee(in.At(2).Type())
	case in.Len() == 2 && out.Len() == 1 && req != "" && s.sequence(last) != "":
		m.kind, m.req, m.res = serverStream, req, s.sequence(last)
	case in.Len() == 2 && out.Len() == 2 && fails && streamed != "" && res != "":
		m.kind, m.req, m.res = clientStream, streamed, res
	case in.Len() == 2 && out.Len() == 1 && streamed != "" && s.sequence(last) != "":
		m.kind, m.req, m.res = bidiStream, streamed, s.sequence(last)
	default:
		return nil, unfit
	}
	if m.reuse && m.kind != filling {
		return nil, s.errorf(id.Pos(), "%s: %s is for methods of the form (ctx, req, res) error", id.Name, directive.Reuse)
	}
	return m, nil
}

// qualifier names the package of a type, and imports it.
func (s *goSource) qualifier(p *types.Package) string {
	if p.Path() == s.pkg.PkgPath {
		return ""
	}
	return s.f.imports.Use(p.Path(), p.Name())
}

// typeString is a type as the output names it.
func (s *goSource) typeString(t types.Type) string { return types.TypeString(t, s.qualifier) }

// pointee returns what a pointer points to; "" for what is none.
func (s *goSource) pointee(t types.Type) string {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return ""
	}
	return s.typeString(p.Elem())
}

// sequence returns T of an iter.Seq2[*T, error]; "" for other types.
func (s *goSource) sequence(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || !source.IsNamed(t, "iter", "Seq2") || n.TypeArgs().Len() != 2 || !types.Identical(n.TypeArgs().At(1), types.Universe.Lookup("error").Type()) {
		return ""
	}
	return s.pointee(n.TypeArgs().At(0))
}

// record reads a struct, if its fields have numbers.
func (s *goSource) record(t *ast.TypeSpec) error {
	object, _ := s.pkg.TypesInfo.Defs[t.Name].(*types.TypeName)
	if object == nil || object.Name() == "_" || t.TypeParams != nil || t.Assign.IsValid() {
		return nil
	}
	st, ok := object.Type().Underlying().(*types.Struct)
	if !ok || !source.Numbered(st) {
		return nil
	}
	r := &record{name: t.Name.Name}
	var errs []error
	for i := range st.NumFields() {
		v, tag := st.Field(i), reflect.StructTag(st.Tag(i)).Get("weft")
		if tag != "-" && source.Hides(v) {
			errs = append(errs, s.errorf(v.Pos(), "what is in %s.%s would be lost, since its type is not exported", r.name, v.Name()))
		}
		if !v.Exported() || tag == "-" {
			if v.Name() != "_" {
				r.others = append(r.others, v.Name())
			}
			continue
		}
		f := &field{name: v.Name(), pos: s.pkg.Fset.Position(v.Pos()).String(), left: source.NoCode(v.Type(), s.pkg.Types, names.IsVariable)}
		number, options, err := wiretag.Parse(tag)
		if err == nil {
			f.number = number
			f.form, err = s.form(v.Type(), options)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: the field %s of %s: %w", f.pos, f.name, r.name, err))
		} else if k := slices.IndexFunc(r.fields, func(o *field) bool { return o.number == number }); k >= 0 {
			errs = append(errs, fmt.Errorf("%s: the fields %s and %s of %s have one number, %d", f.pos, r.fields[k].name, f.name, r.name, number))
		}
		r.fields = append(r.fields, f)
	}
	s.f.coded = append(s.f.coded, r)
	return errors.Join(errs...)
}

// form finds out how a type is encoded.
func (s *goSource) form(t types.Type, options string) (*form, error) {
	f := &form{typ: s.typeString(t), tag: options, own: source.OwnForm(t)}
	if source.Endless(t) {
		return nil, fmt.Errorf("a %s contains itself without a struct between, which has no form in Protocol Buffers", f.typ)
	}
	known := options == ""
	switch {
	case f.own != "":
		f.kind = formOwn
	case source.IsNamed(t, "time", "Time"):
		f.kind = formTime
	case source.IsNamed(t, "time", "Duration") && options == "":
		f.kind = formDuration
	default:
		switch u := t.Underlying().(type) {
		case *types.Basic:
			ok, err := f.basic(u, options)
			if err != nil {
				return nil, err
			}
			known = known || ok
		case *types.Slice, *types.Array:
			of, kinds := u.(interface{ Elem() types.Type }).Elem(), [2]formKind{formList, formBytes}
			if array, ok := u.(*types.Array); ok {
				f.length, kinds = array.Len(), [2]formKind{formArray, formOctets}
			}
			if types.Identical(types.Unalias(of), types.Typ[types.Uint8]) {
				f.kind = kinds[1]
				break
			}
			elem, err := s.element(of, options, "a list")
			if err != nil {
				return nil, err
			}
			f.kind, f.elem, known = kinds[0], elem, true
		case *types.Interface:
			if u.NumMethods() > 0 {
				return nil, fmt.Errorf("a %s has no form in Protocol Buffers: an any has one", f.typ)
			}
			f.kind = formAny
		case *types.Pointer:
			elem, err := s.form(u.Elem(), options)
			if err != nil {
				return nil, err
			}
			if elem.kind >= formPointer {
				return nil, fmt.Errorf("a %s has no form in Protocol Buffers behind a pointer: put it in a struct", elem.typ)
			}
			f.kind, f.elem, known = formPointer, elem, true
		case *types.Map:
			key, err := s.form(u.Key(), "")
			if err == nil && (key.kind == formFloat || key.kind > formText) {
				err = fmt.Errorf("a %s cannot be the key of a map in Protocol Buffers", key.typ)
			}
			if _, of := s.element(u.Elem(), options, "a map"); err != nil || of != nil {
				return nil, errors.Join(err, of)
			}
			f.kind, known = formMap, true
		case *types.Struct:
			if !source.Numbered(u) && u.NumFields() > 0 {
				return nil, fmt.Errorf("the fields of %s have no numbers, which a struct within one with numbers needs", f.typ)
			}
			f.kind = formStruct
			if n, ok := types.Unalias(t).(*types.Named); ok {
				f.name = n.Obj().Name()
			}
		default:
			return nil, fmt.Errorf("a %s has no form in Protocol Buffers: leave the field out with `weft:\"-\"`", f.typ)
		}
	}
	if !known {
		return nil, fmt.Errorf("the option %q of the tag does not fit a %s", options, f.typ)
	}
	return f, nil
}

// element is form for what is in a list or a map.
func (s *goSource) element(t types.Type, options, in string) (*form, error) {
	f, err := s.form(t, options)
	if err == nil && f.kind >= formPointer && !source.PointsToStruct(t) {
		err = fmt.Errorf("a %s has no form in Protocol Buffers within %s: put it in a struct", f.typ, in)
	}
	return f, err
}

// basic is form for types of numbers and strings.
func (f *form) basic(u *types.Basic, options string) (known bool, err error) {
	bits := map[types.BasicKind]int{types.Int: 64, types.Int8: 8, types.Int16: 16, types.Int32: 32, types.Int64: 64,
		types.Uint: 64, types.Uint8: 8, types.Uint16: 16, types.Uint32: 32, types.Uint64: 64, types.Float32: 32, types.Float64: 64}
	f.bits = bits[u.Kind()]
	switch info := u.Info(); {
	case u.Kind() == types.Uintptr || info&types.IsComplex != 0:
		return false, fmt.Errorf("a %s has no form in Protocol Buffers: leave the field out with `weft:\"-\"`", f.typ)
	case info&types.IsBoolean != 0:
		f.kind = formBool
	case info&types.IsString != 0:
		f.kind = formText
	case info&types.IsFloat != 0:
		f.kind = formFloat
	case options == "fixed" && f.bits >= 32:
		f.kind, f.unsigned, f.native = formFixed, info&types.IsUnsigned != 0, u.Kind() == types.Int || u.Kind() == types.Uint
		return true, nil
	case info&types.IsUnsigned != 0:
		f.kind, f.unsigned = formUint, true
	case options == "zigzag":
		f.kind = formZigzag
		return true, nil
	default:
		f.kind = formInt
	}
	return false, nil
}
