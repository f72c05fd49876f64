package directive_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate/internal/directive"
)

func TestDirectives(t *testing.T) {
	doc := func(lines ...string) *ast.CommentGroup {
		g := new(ast.CommentGroup)
		for _, l := range lines {
			g.List = append(g.List, &ast.Comment{Text: l})
		}
		return g
	}
	if rest, ok := directive.Find(doc("// Text.", "//weft:service shop.Orders"), directive.Service); !ok || rest != "shop.Orders" {
		t.Errorf("%q, %v", rest, ok)
	}
	for _, g := range []*ast.CommentGroup{nil, doc("//weft:services"), doc("// weft:service")} {
		if _, ok := directive.Find(g, directive.Service); ok {
			t.Errorf("%v has the directive", g)
		}
	}
	for line, want := range map[string]string{"//weft:reuse": "", "// text": "", "// weft:reuse": "only without the space", "//weft:idempotend": "is no directive; there are //weft:service"} {
		if err := directive.Misspelled(token.NewFileSet(), doc(line)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if err := directive.Misspelled(nil, nil); err != nil {
		t.Error(err)
	}
}
