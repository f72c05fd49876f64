package source

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
)

// constraintOf returns the build constraint of a source as a line of Go: that of its text, that of its name, and cgo where it
// imports "C". The output needs all of them, since its own name has none.
func constraintOf(name string) (line string, err error) {
	syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return "", err
	}
	all, err := written(syntax)
	if err != nil {
		return "", err
	}
	all = append(all, ofName(name)...)
	for _, i := range syntax.Imports {
		if i.Path.Value == `"C"` {
			all = append(all, &constraint.TagExpr{Tag: "cgo"})
			break
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	expr := all[0]
	for _, x := range all[1:] {
		if x.String() != expr.String() {
			expr = &constraint.AndExpr{X: expr, Y: x}
		}
	}
	return "//go:build " + expr.String() + "\n", nil
}

// written are the constraints above the package clause. The lines of the older form count where there is none of the newer one.
func written(syntax *ast.File) (all []constraint.Expr, err error) {
	var older []constraint.Expr
	for _, g := range syntax.Comments {
		for _, c := range g.List {
			if c.Pos() > syntax.Package || !constraint.IsGoBuild(c.Text) && (g == syntax.Doc || !constraint.IsPlusBuild(c.Text)) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			switch {
			case err != nil:
				return nil, err
			case constraint.IsGoBuild(c.Text):
				all = append(all, x)
			default:
				older = append(older, x)
			}
		}
	}
	if len(all) == 0 {
		all = older
	}
	return all, nil
}

// ofName are the system and the architecture that a name such as shop_linux_arm64.go stands for. Package build, which knows them, is asked
// whether such a file is built for others.
func ofName(name string) (all []constraint.Expr) {
	stem, _, _ := strings.Cut(filepath.Base(name), ".")
	parts := strings.Split(stem, "_")
	last := parts[len(parts)-1]
	if len(parts) < 2 || isBuilt("p_"+last, "none") {
		return nil
	}
	if n := len(parts); n > 2 && !isBuilt("p_"+parts[n-2]+"_"+last, last) {
		all = append(all, &constraint.TagExpr{Tag: parts[n-2]})
	}
	return append(all, &constraint.TagExpr{Tag: last})
}

// isBuilt reports whether a file whose name begins so is built for an architecture, on no system that there is.
func isBuilt(stem, architecture string) bool {
	c := build.Context{GOOS: "none", GOARCH: architecture, Compiler: "gc",
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p\n")), nil }}
	match, err := c.MatchFile("", stem+".go")
	return match || err != nil
}
