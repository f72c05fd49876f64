// Package source tells package schema of the types of Go sources.
package source

import (
	"errors"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weftrpc/weft/schema"
)

// Reader reads types of sources, and the comments on them.
type Reader struct {
	docs  map[string]string // of types, and of fields as pkg.Type.Field
	wrong []string
}

// NewReader returns a Reader without comments.
func NewReader() *Reader { return &Reader{docs: make(map[string]string)} }

// Type is a type as a schema.Builder reads it.
func (r *Reader) Type(t types.Type) schema.GoType { return sourceType{types.Unalias(t), r} }

// Err says which types that were read so far a source does not describe.
func (r *Reader) Err() error {
	if len(r.wrong) > 0 {
		return errors.New(strings.Join(r.wrong, "\n"))
	}
	return nil
}

// refuse notes what is wrong with a type, once.
func (r *Reader) refuse(text string) {
	if !slices.Contains(r.wrong, text) {
		r.wrong = append(r.wrong, text)
	}
}

// Comments notes the comments of a package.
func (r *Reader) Comments(pkg *packages.Package) {
	for _, syntax := range pkg.Syntax {
		for _, d := range syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				doc := t.Doc
				if doc == nil && len(g.Specs) == 1 {
					doc = g.Doc
				}
				name := pkg.PkgPath + "." + t.Name.Name
				r.docs[name] = doc.Text()
				if st, ok := t.Type.(*ast.StructType); ok {
					r.fieldComments(name, st)
				}
			}
		}
	}
}

// fieldComments notes the comments of the fields of a struct.
func (r *Reader) fieldComments(name string, st *ast.StructType) {
	for _, f := range st.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, id := range f.Names {
			r.docs[name+"."+id.Name] = text
		}
	}
}
