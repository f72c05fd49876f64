package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// modulePath is the path of the root module; nested modules lie below it.
const modulePath = "github.com/weftrpc/weft"

// Tree is the source of the repository, parsed.
type Tree struct {
	fset       *token.FileSet
	modules    []goMod
	packages   []*pkg
	texts      []text
	workFile   []byte // go.work; nil when there is none
	exceptions Exceptions
	used       map[[2]string]bool // the exceptions that a rule asked for, by rule and subject
}

// pkg is one folder with Go files.
type pkg struct {
	dir    string // relative to the root of the repository, "." for the root package
	name   string // as in the package clause, without _test
	module string // the folder of the module that it belongs to
	files  []*file
}

// file is one Go file.
type file struct {
	*ast.File
	path      string
	lines     int
	test      bool
	generated bool
}

// text is a text file, Go or not.
type text struct {
	path    string
	content []byte
}

// Load parses the repository whose root is fsys. Folders that are hidden, or
// named testdata, vendor, node_modules or target (what Maven builds), are left
// out, as are Go files that are never part of a build (//go:build ignore).
func Load(fsys fs.FS, exceptions Exceptions) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet(), exceptions: exceptions, used: make(map[[2]string]bool)}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && readable(name):
			return t.add(fsys, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range t.packages {
		p.module = t.moduleOf(p.dir)
		if p.name == "" {
			p.name = strings.TrimSuffix(p.files[0].Name.Name, "_test")
		}
	}
	return t, nil
}

func outside(dir string) bool {
	switch base := path.Base(dir); base {
	case "testdata", "vendor", "node_modules", "__pycache__", "target":
		return true
	default:
		return dir != "." && strings.IndexAny(base, "._") == 0
	}
}

func readable(name string) bool {
	switch path.Ext(name) {
	case ".go", ".mod", ".work", ".sh", ".py", ".js", ".ts", ".css", ".html", ".md", ".proto", ".thrift", ".yml", ".yaml":
		return true
	}
	return path.Base(name) == "Makefile"
}

func (t *Tree) add(fsys fs.FS, name string) error {
	content, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	switch {
	case path.Base(name) == "go.mod":
		mod, err := parseGoMod(name, content)
		if err != nil {
			return err
		}
		t.modules = append(t.modules, mod)
	case name == "go.work":
		t.workFile = content
	case path.Ext(name) == ".go":
		return t.addGo(name, content)
	default:
		t.texts = append(t.texts, text{name, content})
	}
	return nil
}

func (t *Tree) addGo(name string, content []byte) error {
	parsed, err := parser.ParseFile(t.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("archtest: %w", err)
	}
	f := &file{
		File:      parsed,
		path:      name,
		lines:     bytes.Count(content, []byte("\n")),
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed),
	}
	if !f.generated {
		t.texts = append(t.texts, text{name, content})
	}
	if f.neverBuilt() {
		return nil
	}
	p := t.packageAt(path.Dir(name))
	p.files = append(p.files, f)
	if !f.test {
		p.name = f.Name.Name
	}
	return nil
}

func (t *Tree) packageAt(dir string) *pkg {
	if i := slices.IndexFunc(t.packages, func(p *pkg) bool { return p.dir == dir }); i >= 0 {
		return t.packages[i]
	}
	p := &pkg{dir: dir}
	t.packages = append(t.packages, p)
	return p
}

// moduleOf returns the folder of the innermost module around dir.
func (t *Tree) moduleOf(dir string) string {
	found := "."
	for _, m := range t.modules {
		if within(dir, m.dir) && len(m.dir) >= len(found) {
			found = m.dir
		}
	}
	return found
}

// excused tells whether the exceptions let subject pass, and notes that the
// exception is in use.
func (t *Tree) excused(rule, subject string) bool {
	if _, ok := t.exceptions[rule][subject]; !ok {
		return false
	}
	t.used[[2]string{rule, subject}] = true
	return true
}

// Stale returns the exceptions that no rule has asked for. Call it after the
// rules.
func (t *Tree) Stale() []Finding {
	var found []Finding
	for rule, subjects := range t.exceptions {
		for subject := range subjects {
			if !t.used[[2]string{rule, subject}] {
				found = append(found, Finding{File: "internal/archtest/exceptions.go",
					Message: fmt.Sprintf("the exception from %q for %s is no longer needed: remove it", rule, subject)})
			}
		}
	}
	return found
}

func (t *Tree) at(pos token.Pos, format string, args ...any) Finding {
	p := t.fset.Position(pos)
	return Finding{File: p.Filename, Line: p.Line, Message: fmt.Sprintf(format, args...)}
}

// sources yields every file that is neither a test nor generated, with its
// package.
func (t *Tree) sources(yield func(*pkg, *file) bool) {
	for _, p := range t.packages {
		for _, f := range p.files {
			if !f.test && !f.generated && !yield(p, f) {
				return
			}
		}
	}
}

// workshop tells whether p is part of the measurements or of the system tests:
// programs that no other package imports and that run foreign software.
func (p *pkg) workshop() bool { return within(p.dir, "bench") || within(p.dir, "test") }

// kit tells whether p is a conformance kit, by its name: codectest and the like.
func (p *pkg) kit() bool { return strings.HasSuffix(p.name, "test") }

// public tells whether other modules can import p.
func (p *pkg) public() bool {
	return p.name != "main" && !p.workshop() && !slices.Contains(strings.Split(p.dir, "/"), "internal") && !p.onlyTests()
}

func (p *pkg) onlyTests() bool {
	return !slices.ContainsFunc(p.files, func(f *file) bool { return !f.test })
}

// qualified is the name of an identifier of p as exceptions write it.
func (p *pkg) qualified(name string) string {
	if p.dir == "." {
		return p.name + "." + name
	}
	return p.dir + "." + name
}

func (f *file) neverBuilt() bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if c.Text == "//go:build ignore" {
				return true
			}
		}
	}
	return false
}

// importOf returns the import of a package in f; nil when there is none.
func (f *file) importOf(importPath string) *ast.ImportSpec {
	i := slices.IndexFunc(f.Imports, func(spec *ast.ImportSpec) bool { return pathOf(spec) == importPath })
	if i < 0 {
		return nil
	}
	return f.Imports[i]
}

// localName is the name under which f knows a package that it imports; empty
// when it does not.
func (f *file) localName(importPath string) string {
	switch spec := f.importOf(importPath); {
	case spec == nil:
		return ""
	case spec.Name != nil:
		return spec.Name.Name
	default:
		return path.Base(importPath)
	}
}

func pathOf(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

// within tells whether dir is root or lies below it.
func within(dir, root string) bool {
	return root == "." || dir == root || strings.HasPrefix(dir, root+"/")
}

// calls tells whether e calls one of the functions of the package that its file
// knows as local.
func calls(e ast.Expr, local string, functions ...string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == local && slices.Contains(functions, sel.Sel.Name)
}
