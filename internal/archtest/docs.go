package archtest

import (
	"go/ast"
	"go/doc"
	"go/token"
	"strings"
)

// packageDocumentation asks for a package comment everywhere, internal packages
// and commands too, except where there is nothing but tests or generated code.
func packageDocumentation(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		var first *file
		documented := false
		for _, f := range p.files {
			if f.test || f.generated {
				continue
			}
			if first == nil {
				first = f
			}
			documented = documented || f.Doc.Text() != ""
		}
		if first != nil && !documented {
			found = append(found, t.at(first.Package, "package %s has no package comment: say above the package clause of one file what it is for", p.name))
		}
	}
	return found
}

// documentation asks for a comment on every exported name of a public package.
func documentation(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		if !p.public() {
			continue
		}
		for _, name := range undocumented(f) {
			found = append(found, t.at(name.Pos(), "%s is exported and has no comment: state what it does, units, defaults, errors, "+
				"and whether it may be called concurrently", name.Name))
		}
	}
	return found
}

func undocumented(f *file) []*ast.Ident {
	var names []*ast.Ident
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && decl.Doc.Text() == "" && exportedReceiver(decl) {
				names = append(names, decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, undocumentedType(decl, spec)...)
				case *ast.ValueSpec:
					names = append(names, undocumentedValue(decl, spec)...)
				}
			}
		}
	}
	return names
}

// exportedReceiver tells whether fn is a function, or a method of an exported
// type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	return fn.Recv == nil || ast.IsExported(receiver(fn))
}

// receiver returns the name of the type whose method fn is.
func receiver(fn *ast.FuncDecl) string {
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// undocumentedValue returns the names of a constant or variable that neither
// has a comment of its own nor stands in a group with one.
func undocumentedValue(decl *ast.GenDecl, spec *ast.ValueSpec) []*ast.Ident {
	if decl.Tok == token.IMPORT || decl.Doc.Text() != "" || spec.Doc.Text() != "" || spec.Comment.Text() != "" {
		return nil
	}
	return exported(spec.Names)
}

// undocumentedType returns the name of the type, of the methods of a larger
// interface, and of the fields of a configuration that have no comment.
func undocumentedType(decl *ast.GenDecl, spec *ast.TypeSpec) []*ast.Ident {
	if !spec.Name.IsExported() {
		return nil
	}
	var names []*ast.Ident
	if spec.Doc.Text() == "" && (decl.Lparen.IsValid() || decl.Doc.Text() == "") {
		names = append(names, spec.Name)
	}
	var members *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.InterfaceType:
		if len(typ.Methods.List) > 1 { // one method is told by the comment of its interface
			members = typ.Methods
		}
	case *ast.StructType:
		if strings.HasSuffix(spec.Name.Name, "Config") {
			members = typ.Fields
		}
	}
	if members == nil {
		return names
	}
	for _, m := range members.List {
		if m.Doc.Text() == "" && m.Comment.Text() == "" {
			names = append(names, exported(m.Names)...)
		}
	}
	return names
}

func exported(names []*ast.Ident) []*ast.Ident {
	var out []*ast.Ident
	for _, n := range names {
		if n.IsExported() {
			out = append(out, n)
		}
	}
	return out
}

// examples asks for one example that runs, in every public package but the
// conformance kits, whose functions need a *testing.T. An exception is the
// folder of a package.
func examples(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		if !p.public() || p.kit() || t.excused("examples", p.dir) {
			continue
		}
		runs := false
		for _, f := range p.files {
			if !f.test {
				continue
			}
			for _, ex := range doc.Examples(f.File) {
				runs = runs || ex.Output != "" || ex.EmptyOutput
			}
		}
		if !runs {
			found = append(found, t.at(p.files[0].Package, "package %s has no example that runs: add a func Example… "+
				"with an // Output: comment in an _example_test.go file", p.name))
		}
	}
	return found
}
