package directive

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
)

// Check returns errors for the lines of a file that look like a directive and are none, and for directives that are in no comment of what they
// are for: an interface of the package, or one of its methods.
func Check(files *token.FileSet, syntax *ast.File) error {
	var errs []error
	read := make(map[*ast.Comment]bool)
	note := func(doc *ast.CommentGroup, which ...string) {
		for _, name := range which {
			for _, c := range lines(doc) {
				read[c] = read[c] || is(c, name)
			}
		}
	}
	for t, doc := range Types(syntax) {
		note(doc, Service)
		if i, ok := t.Type.(*ast.InterfaceType); ok {
			errs = append(errs, Misspelled(files, doc))
			for _, m := range i.Methods.List {
				note(m.Doc, Idempotent, Reuse)
				errs = append(errs, Misspelled(files, m.Doc))
			}
		}
	}
	for _, g := range syntax.Comments {
		for _, c := range g.List {
			switch at := files.Position(c.Pos()); {
			case read[c]:
			case is(c, Service):
				errs = append(errs, fmt.Errorf("%s: %s stands before nothing: put it into the comment directly above an interface of the package", at, Service))
			case is(c, Idempotent), is(c, Reuse):
				errs = append(errs, fmt.Errorf("%s: %s stands before nothing: put it into the comment directly above a method of an interface of the package", at, c.Text))
			}
		}
	}
	return errors.Join(errs...)
}
