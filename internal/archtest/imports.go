package archtest

import (
	"go/ast"
	"path"
	"strings"
)

// wireIsPure keeps network and goroutines out of the frame format, so that it can
// be fuzzed and tested at every byte, and ported to another language.
func wireIsPure(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		if p.dir != "internal/wire" {
			continue
		}
		for _, spec := range f.Imports {
			name := pathOf(spec)
			if !standard(name) || name == "net" || strings.HasPrefix(name, "net/") {
				found = append(found, t.at(spec.Pos(),
					"internal/wire may not import %s: it works on bytes alone, with the standard library and without net", name))
			}
		}
		for n := range ast.Preorder(f.File) {
			if stmt, ok := n.(*ast.GoStmt); ok {
				found = append(found, t.at(stmt.Pos(), "internal/wire may not start goroutines: do it in internal/session"))
			}
		}
	}
	return found
}

// testCodeStaysInTests keeps package testing, with its flags, and the kits that
// need it, out of the programs of users.
func testCodeStaysInTests(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		if p.kit() || p.workshop() || p.dir == "internal/leak" {
			continue
		}
		for _, spec := range f.Imports {
			name := pathOf(spec)
			if name == "testing" || name == modulePath+"/internal/leak" || strings.HasSuffix(path.Base(name), "test") {
				found = append(found, t.at(spec.Pos(),
					"%s is for tests: import it in a _test.go file or in a conformance kit (a package whose name ends in test)", name))
			}
		}
	}
	return found
}

// standard tells whether an import path is of the standard library: its first
// element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func noUnsafe(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.sources {
		if spec := f.importOf("unsafe"); spec != nil && !t.excused("unsafe", f.path) {
			found = append(found, t.at(spec.Pos(), "import of unsafe: it gives up what makes a Go server safe against its input; "+
				"find a safe way, or do without"))
		}
	}
	return found
}

// noReflect leaves out conformance kits, which compare values of any type. An
// exception is a file, or the folder of a codec.
func noReflect(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		spec := f.importOf("reflect")
		if spec != nil && !p.workshop() && !p.kit() && !t.excused("reflect", f.path) && !t.excused("reflect", p.dir) {
			found = append(found, t.at(spec.Pos(), "import of reflect: it belongs to registration and to codecs; "+
				"use generics or an interface, or name it in exceptions.go with a reason"))
		}
	}
	return found
}

func noDotImport(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.sources {
		for _, spec := range f.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				found = append(found, t.at(spec.Pos(), "dot import of %s: import it under its name, so a reader sees where names come from",
					pathOf(spec)))
			}
		}
	}
	return found
}
