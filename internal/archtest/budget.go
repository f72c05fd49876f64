package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The budgets of files, functions and interfaces.
const (
	maxFileLines        = 800
	maxFunctionLines    = 100
	maxInterfaceMethods = 5
)

func fileLength(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.sources {
		if f.lines > maxFileLines {
			found = append(found, Finding{f.path, 0, beyond(f.lines, maxFileLines, "lines: split it by concept")})
		}
	}
	return found
}

func functionLength(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.sources {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
			if n > maxFunctionLines && !t.excused("function length", f.path+":"+fn.Name.Name) {
				found = append(found, t.at(fn.Pos(), "%s has %s", fn.Name.Name, beyond(n, maxFunctionLines, "lines: name its parts and call them")))
			}
		}
	}
	return found
}

// interfaceSize counts the methods of every exported interface, with those of
// the interfaces of its package that it embeds. An embedded interface of another
// package counts as one method.
func interfaceSize(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		if p.workshop() {
			continue
		}
		declared := interfacesOf(p)
		for name, typ := range declared {
			if !ast.IsExported(name) {
				continue
			}
			if n := methods(declared, name); n > maxInterfaceMethods {
				found = append(found, t.at(typ.Pos(), "interface %s has %s", name,
					beyond(n, maxInterfaceMethods, "methods: let its user ask for less, and the rest be optional interfaces")))
			}
		}
	}
	return found
}

func interfacesOf(p *pkg) map[string]*ast.InterfaceType {
	declared := make(map[string]*ast.InterfaceType)
	for _, f := range p.files {
		if f.test || f.generated {
			continue
		}
		for n := range ast.Preorder(f.File) {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if typ, ok := spec.Type.(*ast.InterfaceType); ok {
					declared[spec.Name.Name] = typ
				}
			}
		}
	}
	return declared
}

func methods(declared map[string]*ast.InterfaceType, name string) int {
	n := 0
	for _, m := range declared[name].Methods.List {
		if len(m.Names) > 0 {
			n += len(m.Names)
			continue
		}
		embedded, ok := m.Type.(*ast.Ident)
		if ok && declared[embedded.Name] != nil && embedded.Name != name {
			n += methods(declared, embedded.Name)
		} else {
			n++
		}
	}
	return n
}

// packageNames refuses names of packages that do not say what is in them.
func packageNames(t *Tree) []Finding {
	empty := []string{"util", "utils", "common", "helper", "helpers", "base", "shared", "misc"}
	var found []Finding
	for _, p := range t.packages {
		parts := append(strings.Split(p.dir, "/"), p.name)
		if i := slices.IndexFunc(parts, func(s string) bool { return slices.Contains(empty, s) }); i >= 0 {
			found = append(found, t.at(p.files[0].Package, "a package called %s says nothing: name it after what it provides", parts[i]))
		}
	}
	return found
}

// identifierNames refuses words in exported names that do not say anything.
func identifierNames(t *Tree) []Finding {
	var found []Finding
	for p, f := range t.sources {
		if p.workshop() {
			continue
		}
		for id, isInterface := range exportedNames(f) {
			words := camelWords(id.Name)
			for _, w := range []string{words[0], words[len(words)-1]} {
				if slices.Contains([]string{"Manager", "Helper", "Helpers", "Util", "Utils", "Common", "Impl"}, w) {
					found = append(found, t.at(id.Pos(), "%s: %q says nothing: name it after what it does", id.Name, w))
					break
				}
			}
			if isInterface && len(words) > 1 && words[0] == "I" {
				found = append(found, t.at(id.Pos(), "%s: an interface is named after what it does, without an I in front", id.Name))
			}
		}
	}
	return found
}

// exportedNames yields the exported names that f declares at its top, and
// whether each is an interface.
func exportedNames(f *file) map[*ast.Ident]bool {
	names := make(map[*ast.Ident]bool)
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names[decl.Name] = false
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					_, names[spec.Name] = spec.Type.(*ast.InterfaceType)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names[id] = false
					}
				}
			}
		}
	}
	for id := range names {
		if !id.IsExported() {
			delete(names, id)
		}
	}
	return names
}

// camelWords splits a name before every capital that begins a word:
// "HTTPHelper" into "HTTP" and "Helper". A name has at least one word.
func camelWords(name string) []string {
	var words []string
	letters := []rune(name)
	start := 0
	for i := 1; i < len(letters); i++ {
		next := i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(letters[i]) && (next || !unicode.IsUpper(letters[i-1])) {
			words = append(words, string(letters[start:i]))
			start = i
		}
	}
	return append(words, string(letters[start:]))
}

// unfinishedMarks finds the three words that announce work for later. Such work
// belongs into an issue.
func unfinishedMarks(t *Tree) []Finding {
	mark := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	var found []Finding
	for _, txt := range t.texts {
		number := 0
		for line := range bytes.Lines(txt.content) {
			number++
			if m := mark.Find(line); m != nil {
				found = append(found, Finding{txt.path, number, string(m) + ": finish it, or open an issue and say here what holds today"})
			}
		}
	}
	return found
}

func beyond(n, limit int, rest string) string {
	return fmt.Sprintf("%d of at most %d %s", n, limit, rest)
}
