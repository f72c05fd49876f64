package names

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// The packages that generated code uses for itself.
const (
	Weft      = "github.com/weftrpc/weft"
	Stub      = "github.com/weftrpc/weft/stub"
	Generated = "github.com/weftrpc/weft/codec/generated"
	Thrift    = "github.com/weftrpc/weft/door/thrift"
)

// Imports names the packages that a file uses.
type Imports struct {
	// Declared are names that the file's own package declares.
	Declared map[string]bool

	names map[string]string // by path
	paths map[string]string // by name
}

// NewImports returns an Imports without packages.
func NewImports() *Imports {
	return &Imports{Declared: make(map[string]bool), names: make(map[string]string), paths: make(map[string]string)}
}

// known are the packages that generated code uses for itself, which have these names in it.
func known(name string) (pkgPath string, ok bool) {
	switch name {
	case "context", "fmt", "iter", "math", "slices", "strconv", "time":
		return name, true
	case "binary":
		return "encoding/binary", true
	case "generated":
		return Generated, true
	case "stub":
		return Stub, true
	case "thrift":
		return Thrift, true
	case "weft":
		return Weft, true
	}
	return "", false
}

// IsVariable reports whether the code of messages has variables with a name.
func IsVariable(name string) bool {
	return slices.Contains([]string{"at", "b", "body", "depth", "e", "end", "first", "from", "i", "j", "k", "m", "n", "next", "ok", "own", "p", "r", "s", "start", "to", "v", "x"}, name)
}

// isLocal reports whether generated code has variables with a name.
func isLocal(name string) bool {
	return IsVariable(name) || slices.Contains([]string{"args", "both", "c", "caller", "ctx", "err", "in", "opts", "out", "req", "res"}, name)
}

// Use returns the name by which the file calls a package, whose own name is given. A package that generated code does not
// use for itself gets another name where its own means something else in the file.
func (i *Imports) Use(pkgPath, name string) string {
	if known, ok := i.names[pkgPath]; ok {
		return known
	}
	free := func(name string) bool {
		if path, ok := known(name); ok {
			return path == pkgPath
		}
		return i.paths[name] == "" && !i.Declared[name] && !isLocal(name) && types.Universe.Lookup(name) == nil
	}
	chosen := name
	for k := 2; !free(chosen); k++ {
		chosen = fmt.Sprint(name, k)
	}
	i.names[pkgPath], i.paths[chosen] = chosen, pkgPath
	return chosen
}

// Std is Use for a package whose name is the last part of its path.
func (i *Imports) Std(pkgPath string) string { return i.Use(pkgPath, path.Base(pkgPath)) }

// File returns the text of a file: what stands before its imports, those that the rest uses, and the rest. A package that
// generated code uses for itself gets another name here, where the file's own package declares its name.
func (i *Imports) File(head, body string) (string, error) {
	const clause = "package p\n"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", clause+body, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var uses []*ast.Ident
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && i.paths[id.Name] != "" {
			uses = append(uses, id)
		}
		return true
	})
	slices.SortFunc(uses, func(a, b *ast.Ident) int { return cmp.Compare(a.Pos(), b.Pos()) })
	names := make(map[string]string) // by path
	var text strings.Builder
	done := 0
	for _, id := range uses {
		name := id.Name
		for k := 2; i.Declared[name] || name != id.Name && i.paths[name] != ""; k++ {
			name = fmt.Sprint(id.Name, k)
		}
		names[i.paths[id.Name]] = name
		at := set.Position(id.Pos()).Offset - len(clause)
		text.WriteString(body[done:at] + name)
		done = at + len(id.Name)
	}
	return head + declaration(names) + text.String() + body[done:], nil
}

// Has reports whether the file has a package with a name.
func (i *Imports) Has(name string) bool { return i.paths[name] != "" }

// declaration is the import declaration for packages with names.
func declaration(names map[string]string) string {
	var standard, others []string
	for _, p := range slices.Sorted(maps.Keys(names)) {
		line := fmt.Sprintf("\t%q\n", p)
		if name := names[p]; name != path.Base(p) {
			line = fmt.Sprintf("\t%s %q\n", name, p)
		}
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			others = append(others, line)
		} else {
			standard = append(standard, line)
		}
	}
	if len(standard)+len(others) == 0 {
		return ""
	}
	gap := ""
	if len(standard) > 0 && len(others) > 0 {
		gap = "\n"
	}
	return "import (\n" + strings.Join(standard, "") + gap + strings.Join(others, "") + ")\n"
}

// ImportPath is the import path of a folder, by the go.mod above it; "": there is none.
func ImportPath(folder string) string {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if b, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			rest, err := filepath.Rel(dir, folder)
			module := modfile.ModulePath(b)
			if err != nil || module == "" {
				return ""
			}
			return path.Join(module, filepath.ToSlash(rest))
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
