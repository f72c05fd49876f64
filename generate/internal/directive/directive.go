// Package directive finds the directives of weft generate in the comments of Go sources.
package directive

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
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
	if doc == nil {
		return "", false
	}
	for _, c := range doc.List {
		if rest, found := strings.CutPrefix(c.Text, which); found && (rest == "" || rest[0] == ' ') {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// Misspelled returns errors for the lines of a comment that look like a directive and are none.
func Misspelled(files *token.FileSet, doc *ast.CommentGroup) error {
	if doc == nil {
		return nil
	}
	known := []string{Service, Idempotent, Reuse}
	var errs []error
	for _, c := range doc.List {
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
