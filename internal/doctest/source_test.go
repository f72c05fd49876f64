package doctest

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// source is one Go file.
type source struct {
	name string // from the root
	*ast.File
}

func parse(t *testing.T, name string) source {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{name, f}
}

// goFiles are the names of all Go files that are no tests, from the root.
func goFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// program tells whether a file belongs to the examples, the measurements or the
// system tests, which no other package imports.
func program(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"bench", "examples", "test"}, top)
}

// library are the sources of the packages that programs import, without those for
// tests: the packages whose names end in test, and the leak check.
func library(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range goFiles(t) {
		folder := path.Dir(name)
		if !program(name) && !strings.HasSuffix(folder, "test") && folder != "internal/leak" {
			all = append(all, parse(t, name))
		}
	}
	return all
}

// functions are the names of what a file declares: "Session.flush", "Dial".
func (s source) functions() []string {
	var all []string
	for _, d := range s.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			all = append(all, nameOf(fn))
		}
	}
	return all
}

func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// starters are the functions of a file that start goroutines.
func (s source) starters() []string {
	var all []string
	for _, d := range s.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for n := range ast.Preorder(fn) {
			if _, ok := n.(*ast.GoStmt); ok && !slices.Contains(all, nameOf(fn)) {
				all = append(all, nameOf(fn))
			}
		}
	}
	return all
}

// constants are the values of the constants of some packages by name, as far as
// they are plain numbers and durations, which count in nanoseconds.
type constants map[string]constant.Value

// add adds the constants of a folder.
func (c constants) add(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		for _, d := range parse(t, path.Join(folder, e.Name())).Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i < len(v.Values) {
						c[name.Name] = c.value(v.Values[i])
					}
				}
			}
		}
	}
}

// value evaluates an expression; ok is false when a part of it is not known.
func (c constants) value(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return c.value(e.X)
	case *ast.Ident:
		if v := c[e.Name]; v != nil {
			return v
		}
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
			"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if d, ok := units[e.Sel.Name]; ok {
			return constant.MakeInt64(int64(d))
		}
	case *ast.BinaryExpr:
		x, y := c.value(e.X), c.value(e.Y)
		if x.Kind() != constant.Int || y.Kind() != constant.Int {
			break
		}
		if e.Op == token.SHL || e.Op == token.SHR {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n))
		}
		if e.Op == token.QUO {
			return constant.BinaryOp(x, token.QUO_ASSIGN, y)
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return constant.MakeUnknown()
}

// amount reads a number as the documents write it: "4 MiB", "16,384", "10 s", "200 µs".
func amount(text string) (int64, error) {
	digits, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	if err != nil {
		return 0, err
	}
	factor, ok := map[string]int64{"": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "µs": int64(time.Microsecond),
		"ms": int64(time.Millisecond), "s": int64(time.Second), "min": int64(time.Minute)}[unit]
	if !ok {
		return 0, fmt.Errorf("unit %q is not known", unit)
	}
	return n * factor, nil
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]int64{"4 MiB": 4 << 20, "16,384": 16384, "10 s": 1e10, "200 µs": 200_000, "4": 4, "64 bytes": 64} {
		if got, err := amount(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "many", "4 stone"} {
		if got, err := amount(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

// everyConstant are those of the packages whose numbers the documents name.
func everyConstant(t *testing.T) constants {
	t.Helper()
	c := make(constants)
	for _, folder := range []string{"internal/wire", "codec", "codec/internal/room", "transport/tcp", "transport/tls", "internal/buffer", "internal/inbuf", "internal/workers", "internal/bulk", "internal/outbuf", "internal/backlog", "internal/streams", "internal/pace", "internal/greeting", "internal/budget", "internal/stats", "internal/session", "cluster/internal/idle", "."} {
		c.add(t, folder)
	}
	return c
}

// disagrees returns how the number of a document differs from that of the code.
func (c constants) disagrees(name, text string) string {
	want, err := amount(text)
	if err != nil {
		return err.Error()
	}
	v := c[name]
	if v == nil || v.Kind() != constant.Int {
		return "there is no such constant"
	}
	if got, _ := constant.Int64Val(v); got != want {
		return "the code says " + v.ExactString()
	}
	return ""
}

// inPassing is a constant whose value stands in parentheses behind its name.
var inPassing = regexp.MustCompile("`([A-Za-z]+)` \\(([0-9][^)]*)\\)")

// TestNumbersInPassing compares every number that stands behind the name of a
// constant, in any document, with the code.
func TestNumbersInPassing(t *testing.T) {
	c := everyConstant(t)
	found := 0
	for _, d := range documents(t) {
		prose, _ := d.split()
		for i, line := range prose {
			for _, m := range inPassing.FindAllStringSubmatch(line, -1) {
				found++
				if wrong := c.disagrees(m[1], m[2]); wrong != "" {
					t.Errorf("%s: `%s` (%s): %s", at(d, i+1), m[1], m[2], wrong)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d numbers were found", found)
	}
}
