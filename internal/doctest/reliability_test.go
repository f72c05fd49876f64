package doctest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testName is the name of a test, a fuzz target or a benchmark.
var testName = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)[A-Z]\w*$`)

// TestPromisesHaveTests: every test that RELIABILITY.md names is in a file that its
// row links to, every such file has one, and every row of a promise names one.
func TestPromisesHaveTests(t *testing.T) {
	d := readDocument(t, "docs/RELIABILITY.md")
	promises := rows(d.section(t, "Promises"))
	if len(promises) < 20 {
		t.Fatalf("only %d promises were found", len(promises))
	}
	for _, row := range promises {
		if len(row) != 3 {
			t.Errorf("row %q has %d cells, want a promise, its tests, and their files", row, len(row))
			continue
		}
		tests := quoted(row[1])
		var have []string
		for _, file := range targets(d, row[2]) {
			var these []string
			if strings.HasSuffix(file, ".go") {
				these = parse(t, file).functions()
			} else {
				these = pythonTests(t, file)
			}
			if !slices.ContainsFunc(tests, func(name string) bool { return slices.Contains(these, name) }) {
				t.Errorf("%q: %s has none of its tests", row[0], file)
			}
			have = append(have, these...)
		}
		if len(tests) == 0 {
			t.Errorf("%q names no test", row[0])
		}
		for _, name := range tests {
			if !slices.Contains(have, name) {
				t.Errorf("%q: there is no %s in the files of its row", row[0], name)
			}
			if !testName.MatchString(name) && !strings.HasPrefix(name, "test_") {
				t.Errorf("%q: %s is no test", row[0], name)
			}
		}
	}
}

// pythonTests are the test methods of a file in Python.
func pythonTests(t *testing.T, file string) []string {
	t.Helper()
	var all []string
	for _, line := range readDocument(t, file).lines {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "def "); ok {
			name, _, _ := strings.Cut(rest, "(")
			all = append(all, name)
		}
	}
	return all
}

// TestLimits: the table of the defaults has every constant of config.go, with its
// value, and no other.
func TestLimits(t *testing.T) {
	d := readDocument(t, "docs/RELIABILITY.md")
	c := everyConstant(t)
	var listed []string
	for _, row := range rows(d.section(t, "Limits on by default")) {
		name := quoted(row[0])[0]
		listed = append(listed, name)
		if wrong := c.disagrees(name, row[1]); wrong != "" {
			t.Errorf("%s is given as %s: %s", name, row[1], wrong)
		}
	}
	var real []string
	for _, decl := range parse(t, "config.go").Decls {
		if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Default") {
						real = append(real, name.Name)
					}
				}
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(real)
	if len(real) == 0 || !slices.Equal(listed, real) {
		t.Errorf("the table has %v, config.go has %v", listed, real)
	}
}

// TestFixedBounds: the bounds that cannot be configured are those of the code.
func TestFixedBounds(t *testing.T) {
	c := everyConstant(t)
	all := rows(readDocument(t, "docs/RELIABILITY.md").section(t, "Fixed bounds"))
	if len(all) < 10 {
		t.Fatalf("only %d bounds were found", len(all))
	}
	for _, row := range all {
		if wrong := c.disagrees(quoted(row[0])[0], row[1]); wrong != "" {
			t.Errorf("%s is given as %s: %s", row[0], row[1], wrong)
		}
	}
}
