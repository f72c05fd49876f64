package doctest

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// targets are the files that the links of a text lead to, from the root.
func targets(d document, text string) []string {
	var all []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		file, _, _ := strings.Cut(m[1], "#")
		all = append(all, path.Join(path.Dir(d.name), file))
	}
	return all
}

// TestFileMap: every package has a row, and of the two large ones every file has.
func TestFileMap(t *testing.T) {
	d := readDocument(t, "docs/ARCHITECTURE.md")
	var named []string
	for _, row := range rows(d.section(t, "File map")) {
		named = append(named, targets(d, row[0])...)
	}
	covered := func(folder string) bool {
		return slices.ContainsFunc(named, func(name string) bool { return name == folder || path.Dir(name) == folder })
	}
	missing := make(map[string]bool)
	for _, file := range goFiles(t) {
		switch folder := path.Dir(file); {
		case program(file):
		case folder == "." || folder == "internal/session":
			if !slices.Contains(named, file) {
				t.Errorf("%s has no row in the file map", file)
			}
		case !covered(folder) && !missing[folder]:
			missing[folder] = true
			t.Errorf("package %s has no row in the file map", folder)
		}
	}
	for _, name := range named {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("the file map names %s, which does not exist", name)
		}
	}
}

// TestGoroutines: the inventory has a row for every function that starts one, and
// no other.
func TestGoroutines(t *testing.T) {
	d := readDocument(t, "docs/ARCHITECTURE.md")
	var listed, real []string
	for _, row := range rows(d.section(t, "Goroutines")) {
		files := targets(d, row[0])
		if len(files) != 1 || len(quoted(row[0])) != 1 {
			t.Fatalf("the first cell of %q wants a function and a link to its file", row)
		}
		listed = append(listed, files[0]+" "+quoted(row[0])[0])
	}
	for _, s := range library(t) {
		for _, name := range s.starters() {
			real = append(real, s.name+" "+name)
		}
	}
	for _, name := range real {
		if !slices.Contains(listed, name) {
			t.Errorf("%s starts goroutines and is not in the inventory", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(real, name) {
			t.Errorf("the inventory names %s, which starts no goroutine", name)
		}
	}
}

// TestLifeOfACall: every function of the steps is where the table says.
func TestLifeOfACall(t *testing.T) {
	d := readDocument(t, "docs/ARCHITECTURE.md")
	steps := rows(d.section(t, "The life of a unary call"))
	if len(steps) < 10 {
		t.Fatalf("only %d steps were found", len(steps))
	}
	for _, row := range steps {
		for _, file := range targets(d, row[2]) {
			if name := quoted(row[1])[0]; !slices.Contains(parse(t, file).functions(), name) {
				t.Errorf("step %s: %s has no function %s", row[0], file, name)
			}
		}
	}
}

// TestNamedFunctions: what the architecture calls by the name of a function of the
// root package or of the session exists.
func TestNamedFunctions(t *testing.T) {
	known := make(map[string]bool)
	types := make(map[string]bool)
	for _, s := range library(t) {
		folder := path.Dir(s.name)
		for _, name := range s.functions() {
			known[name] = true // cluster has a Client, too
			if typ, _, ok := strings.Cut(name, "."); ok && (folder == "." || folder == "internal/session") {
				types[typ] = true
			}
		}
	}
	d := readDocument(t, "docs/ARCHITECTURE.md")
	prose, _ := d.split()
	found := 0
	for i, line := range prose {
		for _, name := range quoted(line) {
			typ, rest, ok := strings.Cut(name, ".")
			if !ok || !types[typ] || strings.ContainsAny(rest, ".()") || isField(name) {
				continue
			}
			found++
			if !known[name] {
				t.Errorf("%s: there is no function %s", at(d, i+1), name)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d functions were found", found)
	}
}

// isField tells a lock from a function.
func isField(name string) bool {
	return strings.HasSuffix(name, ".mu") || strings.HasSuffix(name, ".once")
}
