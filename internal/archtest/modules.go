package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// goMod is what the rules need of a go.mod file.
type goMod struct {
	file     string
	dir      string
	path     string
	requires []directive
	replaces []directive
}

// directive is one line of a go.mod or go.work file.
type directive struct {
	value string // the first word behind the keyword
	line  int
}

func parseGoMod(name string, content []byte) (goMod, error) {
	mod := goMod{file: name, dir: path.Dir(name)}
	all := directives(content)
	if len(all["module"]) != 1 {
		return goMod{}, fmt.Errorf("archtest: %s has no module line", name)
	}
	mod.path = all["module"][0].value
	mod.requires, mod.replaces = all["require"], all["replace"]
	return mod, nil
}

// directives reads a go.mod or go.work file: the first word of every line, by
// keyword, whether it stands alone or in a block.
func directives(content []byte) map[string][]directive {
	all := make(map[string][]directive)
	block, number := "", 0
	for line := range strings.Lines(string(content)) {
		number++
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case block != "" && words[0] == ")":
			block = ""
		case block != "":
			all[block] = append(all[block], directive{words[0], number})
		case len(words) > 1 && words[1] == "(":
			block = words[0]
		case len(words) > 1:
			all[words[0]] = append(all[words[0]], directive{words[1], number})
		}
	}
	return all
}

// library is a third-party module that the root module may require.
type library struct {
	path  string
	users []string // patterns of the packages whose code may import it
}

// libraries are the requirements of the root module. A library is on the list only
// when it has no requirements of its own; a package that needs another one is a
// module of its own in this repository.
func libraries() []library {
	return []library{
		{"github.com/coder/websocket", []string{"door/internal/websock"}},
		{"github.com/klauspost/compress", []string{"compress/..."}},
		{"github.com/pierrec/lz4/v4", []string{"compress/..."}},
		{"github.com/shamaton/msgpack/v3", nil}, // the measure of codec/msgpack in its tests
		{"google.golang.org/protobuf", []string{"codec/protobuf", "codec/json", "codec/internal/cycle", "codec/internal/numbered", "codec/internal/tags", "codec/internal/wellknown", "internal/stock", "schema", "cluster/internal/twin", "door/...", "admin", "plugin/internal/encoded", "plugin/record", "examples/...", "codec/protobuf/descriptors", "test/compat/schema/server"}},
	}
}

func libraryOf(importPath string) (library, bool) {
	for _, l := range libraries() {
		if within(importPath, l.path) {
			return l, true
		}
	}
	return library{}, false
}

// thirdPartyImports keeps the root module to its libraries, and each library
// to the packages that exist for it. Tests may use them anywhere.
func thirdPartyImports(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		if p.module != "." {
			continue
		}
		for _, f := range p.files {
			for _, spec := range f.Imports {
				name := pathOf(spec)
				if _, own := weftFolder(name); own || standard(name) {
					continue
				}
				l, ok := libraryOf(name)
				if !ok {
					found = append(found, t.at(spec.Pos(), "the root module may not import %s: "+
						"do without, or put the package that needs it into a module of its own", name))
				} else if !f.test && !slices.ContainsFunc(l.users, func(u string) bool { return match(u, p.dir) }) {
					found = append(found, t.at(spec.Pos(), "%s is for %s alone: use that package, or name this one in "+
						"internal/archtest/modules.go", l.path, strings.Join(l.users, ", ")))
				}
			}
		}
	}
	return found
}

// thirdPartyRequirements holds go.mod of the root to the list of libraries,
// direct and indirect: a library that begins to bring others is noticed here.
func thirdPartyRequirements(t *Tree) []Finding {
	var found []Finding
	for _, m := range t.modules {
		if m.dir != "." {
			continue
		}
		var have []string
		for _, r := range m.requires {
			have = append(have, r.value)
			if !slices.ContainsFunc(libraries(), func(l library) bool { return l.path == r.value }) {
				found = append(found, Finding{m.file, r.line, fmt.Sprintf("the root module may not require %s: "+
					"find out with 'go mod why -m %s' what brings it, and move that into a module of its own", r.value, r.value)})
			}
		}
		for _, l := range libraries() {
			if !slices.Contains(have, l.path) {
				found = append(found, Finding{m.file, 0, fmt.Sprintf("%s is on the list of libraries but not required: "+
					"remove it from internal/archtest/modules.go", l.path)})
			}
		}
		for _, r := range m.replaces {
			found = append(found, Finding{m.file, r.line, fmt.Sprintf("replace of %s: "+
				"users of weft would not get it, so the root module replaces nothing", r.value)})
		}
	}
	return found
}

// workspace holds go.work to the modules that exist, and every module to its
// folder.
func workspace(t *Tree) []Finding {
	const advice = "run 'make workspace'"
	var found []Finding
	listed := directives(t.workFile)["use"]
	for _, u := range listed {
		if !slices.ContainsFunc(t.modules, func(m goMod) bool { return m.dir == path.Clean(u.value) }) {
			found = append(found, Finding{"go.work", u.line, fmt.Sprintf("%s is no module: %s", u.value, advice)})
		}
	}
	for _, m := range t.modules {
		if !slices.ContainsFunc(listed, func(u directive) bool { return m.dir == path.Clean(u.value) }) {
			found = append(found, Finding{"go.work", 0, fmt.Sprintf("the module in %s is missing: %s", m.dir, advice)})
		}
		if want := path.Join(modulePath, m.dir); m.path != want {
			found = append(found, Finding{m.file, 1, fmt.Sprintf("the module is called %s: call it %s, after its folder", m.path, want)})
		}
	}
	return found
}
