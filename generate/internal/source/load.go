package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Load reads packages of Go. The code that is to be generated may be missing or old, so that a package cannot be built.
func Load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 { // the go command has said why, and packages.Load does not tell
		return nil, fmt.Errorf("%s: the go command finds no package: run this in the module of the package, which is a folder with a go.mod or below it",
			cmp.Or(strings.Join(patterns, " "), "this folder"))
	}
	for _, pkg := range loaded {
		for _, e := range pkg.Errors {
			if e.Kind == packages.ParseError || len(pkg.Syntax) == 0 {
				if e.Pos == "" || e.Pos == "-" { // it is not about a place in a file
					return nil, errors.New(e.Msg)
				}
				return nil, e
			}
		}
	}
	return loaded, nil
}
