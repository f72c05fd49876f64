package source

import (
	"errors"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weftrpc/weft/generate/internal/origin"
)

// A File is a source of a package.
type File struct {
	Name   string // its path
	Build  string // its build constraint, as a line of Go; "": it has none
	Syntax *ast.File
}

// Files are the sources of a package that were not generated. Where a source imports "C" its syntax is that of the file that cgo made of it
// in the build cache, and what else cgo makes has no source.
func Files(pkg *packages.Package) (files []File, err error) {
	var errs []error
	for i, syntax := range pkg.Syntax {
		name := sourceOf(pkg.GoFiles, pkg.CompiledGoFiles[i], pkg.Fset.Position(syntax.Package))
		if name == "" || strings.HasSuffix(name, origin.Output("")) {
			continue
		}
		build, err := constraintOf(name)
		errs = append(errs, err)
		files = append(files, File{name, build, syntax})
	}
	return files, errors.Join(errs...)
}

// sourceOf is the source of a file that is compiled, whose package clause is at a position by its line directives; "": there is none. That
// position may have no folder, or another one.
func sourceOf(sources []string, compiled string, clause token.Position) string {
	if slices.Contains(sources, compiled) {
		return compiled
	}
	for _, name := range sources {
		if filepath.Base(name) == filepath.Base(clause.Filename) {
			return name
		}
	}
	return ""
}
