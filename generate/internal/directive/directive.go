// Package directive finds the directives of weft generate in the comments of Go sources.
package directive

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"slices"
	"strings"
)

// The directives.
const (
	Service    = "//weft:service"
	Idempotent = "//weft:idempotent"
	Reuse      = "//weft:reuse"
)

// Find finds the line of a comment with a directive, and returns what is behind it.
func Find(doc *ast.CommentGroup, which string) (rest string, ok bool) {
	for _, c := range lines(doc) {
		if is(c, which) {
			return strings.TrimSpace(c.Text[len(which):]), true
		}
	}
	return "", false
}

// lines are those of a comment, which may be nil.
func lines(doc *ast.CommentGroup) []*ast.Comment {
	if doc == nil {
		return nil
	}
	return doc.List
}

// is reports whether a line is a directive.
func is(c *ast.Comment, which string) bool {
	rest, ok := strings.CutPrefix(c.Text, which)
	return ok && (rest == "" || rest[0] == ' ')
}

// Misspelled returns errors for the lines of a comment that look like a directive and are none.
func Misspelled(files *token.FileSet, doc *ast.CommentGroup) error {
	known := []string{Service, Idempotent, Reuse}
	var errs []error
	for _, c := range lines(doc) {
		word, _, _ := strings.Cut(strings.TrimLeft(strings.TrimPrefix(c.Text, "//"), " \t"), " ")
		switch written := "//" + word; {
		case !strings.HasPrefix(word, "weft:") || strings.HasPrefix(c.Text, written) && slices.Contains(known, written):
		case slices.Contains(known, written):
			errs = append(errs, fmt.Errorf("%s: %s is a directive only without the space behind the slashes", files.Position(c.Pos()), written))
		default:
			errs = append(errs, fmt.Errorf("%s: %s is no directive; there are %s", files.Position(c.Pos()), written, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// Types returns the types that a file declares in its package, with the comments above them, which may be nil.
func Types(syntax *ast.File) iter.Seq2[*ast.TypeSpec, *ast.CommentGroup] {
	return func(yield func(*ast.TypeSpec, *ast.CommentGroup) bool) {
		for _, d := range syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				t := spec.(*ast.TypeSpec)
				doc := t.Doc
				if doc == nil {
					doc = g.Doc
				}
				if !yield(t, doc) {
					return
				}
			}
		}
	}
}
