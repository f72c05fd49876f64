package archtest

import (
	"go/ast"
	"slices"
)

// leakCheck asks every package with tests for
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// An exception is the folder of a package.
func leakCheck(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		var first *file
		checked := false
		for _, f := range p.files {
			if !f.test {
				continue
			}
			if first == nil {
				first = f
			}
			checked = checked || callsLeakMain(p, f)
		}
		if first != nil && !checked && !p.workshop() && !t.excused("leak check", p.dir) {
			found = append(found, t.at(first.Package, "the tests of this package do not look for goroutine leaks: "+
				"add func TestMain(m *testing.M) { leak.Main(m) }"))
		}
	}
	return found
}

func callsLeakMain(p *pkg, f *file) bool {
	local := f.localName(modulePath + "/internal/leak")
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "TestMain" || fn.Recv != nil {
			continue
		}
		for n := range ast.Preorder(fn) {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				continue
			}
			if local != "" && calls(call, local, "Main") {
				return true
			}
			id, ok := call.Fun.(*ast.Ident)
			if ok && p.dir == "internal/leak" && id.Name == "Main" {
				return true
			}
		}
	}
	return false
}

// skippedTests refuses tests that skip themselves: a test that is skipped proves
// nothing. The scripts install what a test needs; tests that take long are below
// test/, which 'make' leaves out and 'make test' runs. An exception is the path of a
// file.
func skippedTests(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		for _, f := range p.files {
			local := f.localName("testing")
			if local == "" || f.generated {
				continue
			}
			tests := testParameters(f, local)
			for n := range ast.Preorder(f.File) {
				call, ok := n.(*ast.CallExpr)
				if !ok || !skips(call, local, tests) || t.excused("skipped tests", f.path) {
					continue
				}
				found = append(found, t.at(call.Pos(), "a test is never skipped or cut short: let a script install what it needs, "+
					"move it below test/ if it takes long, or name the file in exceptions.go with a reason"))
			}
		}
	}
	return found
}

// testParameters returns the names that f gives to values of *testing.T and its
// like. A parser's own Skip method is then not taken for theirs.
func testParameters(f *file, local string) map[string]bool {
	names := make(map[string]bool)
	for n := range ast.Preorder(f.File) {
		field, ok := n.(*ast.Field)
		if !ok {
			continue
		}
		typ := field.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		sel, ok := typ.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"T", "B", "F", "TB"}, sel.Sel.Name) {
			continue
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
			for _, name := range field.Names {
				names[name.Name] = true
			}
			if len(field.Names) == 0 {
				names[sel.Sel.Name] = true // an embedded testing.TB
			}
		}
	}
	return names
}

// skips tells whether call is t.Skip, t.Skipf, t.SkipNow, the same of a field
// that holds a t, or testing.Short.
func skips(call *ast.CallExpr, local string, tests map[string]bool) bool {
	if calls(call, local, "Short") {
		return true
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
		return false
	}
	switch x := sel.X.(type) {
	case *ast.Ident:
		return tests[x.Name]
	case *ast.SelectorExpr:
		return tests[x.Sel.Name]
	}
	return false
}
