package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

func noInit(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.sources {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, t.at(fn.Pos(), "func init: do the work where the value is built, "+
					"so that an import alone changes nothing"))
			}
		}
	}
	return found
}

// certificatesAreVerified: TLS that accepts any certificate protects from no
// attacker. A program can still ask for that in a tls.Config of its own.
func certificatesAreVerified(t *Tree) []Finding {
	const field = "InsecureSkipVerify"
	var found []Finding
	report := func(pos token.Pos) {
		found = append(found, t.at(pos, field+" is set to true: verify the certificate, with RootCAs for a private authority"))
	}
	isTrue := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == "true"
	}
	for _, f := range t.sources {
		for n := range ast.Preorder(f.File) {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == field && isTrue(n.Value) {
					report(n.Pos())
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					sel, ok := left.(*ast.SelectorExpr)
					if ok && sel.Sel.Name == field && len(n.Rhs) == len(n.Lhs) && isTrue(n.Rhs[i]) {
						report(n.Pos())
					}
				}
			}
		}
	}
	return found
}

// librariesNeverPrint: standard output and the process-wide logger belong to
// the program.
func librariesNeverPrint(t *Tree) []Finding {
	printers := map[string][]string{
		"fmt": {"Print", "Printf", "Println"},
		"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
	}
	var found []Finding
	for p, f := range t.sources {
		if p.name == "main" || p.workshop() {
			continue
		}
		for from, names := range printers {
			local := f.localName(from)
			if local == "" {
				continue
			}
			for n := range ast.Preorder(f.File) {
				if call, ok := n.(*ast.CallExpr); ok && calls(call, local, names...) {
					found = append(found, t.at(call.Pos(), "a library does not print: write to the *slog.Logger of the config, or return an error"))
				}
			}
		}
	}
	return found
}

// packageVariables allows what never changes by its nature: sentinel errors,
// assertions that a type has an interface, and embedded files. An exception is
// "folder.name".
func packageVariables(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		if p.workshop() {
			continue
		}
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.ValueSpec)
				if f.constantByNature(gen, spec) {
					continue
				}
				for _, name := range spec.Names {
					if name.Name != "_" && !t.excused("package variables", p.qualified(name.Name)) {
						found = append(found, t.at(name.Pos(), "package variable %s: make it a constant, a function that returns the value, "+
							"or a field of what uses it; a table that is only read is listed in exceptions.go", name.Name))
					}
				}
			}
		}
	}
	return found
}

func (f *file) constantByNature(gen *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{gen.Doc, spec.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	if len(spec.Values) == 0 {
		return false
	}
	for _, value := range spec.Values {
		if !calls(value, "errors", "New") && !calls(value, "fmt", "Errorf") {
			return false
		}
	}
	return true
}

// goroutineOwners asks for a comment at every go statement that names the owner of
// the goroutine, or says when it ends: on its line or within the four lines above.
func goroutineOwners(t *Tree) []Finding {
	says := regexp.MustCompile(`(?i)goroutine|\bends\b`)
	var found []Finding
	for _, f := range t.sources {
		told := make(map[int]bool) // the last lines of the comments that say it
		for _, group := range f.Comments {
			for _, c := range group.List {
				if says.MatchString(c.Text) {
					told[t.fset.Position(c.End()).Line] = true
				}
			}
		}
		for n := range ast.Preorder(f.File) {
			stmt, ok := n.(*ast.GoStmt)
			if !ok {
				continue
			}
			line, near := t.fset.Position(stmt.Pos()).Line, false
			for above := 0; above <= 4; above++ {
				near = near || told[line-above]
			}
			if !near {
				found = append(found, t.at(stmt.Pos(), "go statement without an owner: say in a comment within four lines above "+
					"when this goroutine ends and what waits for it"))
			}
		}
	}
	return found
}
