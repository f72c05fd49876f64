package archtest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sample is a small repository that a rule is tried on.
type sample struct {
	name       string
	files      string   // "-- path --" lines, each followed by the content of the file
	exceptions []string // subjects that the rule lets pass
	want       []string // how each finding begins, and, behind a space, a part of its message
}

// load turns a sample into a tree. Where it has no root module it gets one.
func (s sample) load(t *testing.T, rule string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module " + modulePath + "\n")}}
	for part := range strings.SplitSeq(s.files, "-- ") {
		name, content, ok := strings.Cut(part, " --\n")
		if ok {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	excused := make(map[string]string)
	for _, subject := range s.exceptions {
		excused[subject] = "the sample says so"
	}
	tree, err := Load(fsys, Exceptions{rule: excused})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// run holds the samples to the rule of that name.
func run(t *testing.T, rule string, samples []sample) {
	t.Helper()
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == rule })
	if i < 0 {
		t.Fatalf("no rule is called %q", rule)
	}
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			tree := s.load(t, rule)
			found := Rules()[i].Check(tree)
			for n, f := range found {
				if n >= len(s.want) || !agrees(f, s.want[n]) {
					t.Errorf("unexpected: %s", f)
				}
			}
			if len(found) < len(s.want) {
				t.Errorf("%d findings, want %q", len(found), s.want)
			}
			for _, f := range tree.Stale() {
				t.Errorf("stale: %s", f)
			}
		})
	}
}

func agrees(f Finding, want string) bool {
	place, part, _ := strings.Cut(want, " ")
	return strings.HasPrefix(f.String(), place+": ") && strings.Contains(f.Message, part)
}

// TestEveryRuleCanFail checks that every rule has a sample that breaks it and one
// that keeps it.
func TestEveryRuleCanFail(t *testing.T) {
	tests := allSamples()
	for _, r := range Rules() {
		samples := tests[r.Name]
		if !slices.ContainsFunc(samples, func(s sample) bool { return len(s.want) > 0 }) {
			t.Errorf("no sample breaks the rule %q", r.Name)
		}
		if !slices.ContainsFunc(samples, func(s sample) bool { return len(s.want) == 0 }) {
			t.Errorf("no sample keeps the rule %q", r.Name)
		}
	}
	for name, samples := range tests {
		t.Run(name, func(t *testing.T) { run(t, name, samples) })
	}
}

func allSamples() map[string][]sample {
	all := make(map[string][]sample)
	for _, group := range []map[string][]sample{layerSamples(), moduleSamples(), sourceSamples(), docSamples(), budgetSamples(), sizeSamples(), testSamples()} {
		for name, samples := range group {
			all[name] = samples
		}
	}
	return all
}

func TestStaleExceptionIsFound(t *testing.T) {
	s := sample{files: "-- a.go --\npackage weft\n", exceptions: []string{"b.go"}}
	tree := s.load(t, "unsafe")
	noUnsafe(tree)
	if found := tree.Stale(); len(found) != 1 || !strings.Contains(found[0].Message, "b.go") {
		t.Errorf("Stale() = %v, want one finding about b.go", found)
	}
}

func TestLoadNamesTheFileThatDoesNotParse(t *testing.T) {
	for file, content := range map[string]string{"codec/bad.go": "package", "bench/go.mod": "go 1.26\n"} {
		_, err := Load(fstest.MapFS{file: {Data: []byte(content)}}, nil)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want one that names it", file, err)
		}
	}
}

func TestLoadLeavesOut(t *testing.T) {
	s := sample{files: `
-- codec/testdata/a.go --
package broken (
-- _draft/a.go --
package broken (
-- .hidden/a.go --
package broken (
-- codec/gen.go --
//go:build ignore

package main

import "unsafe"
`}
	if tree := s.load(t, ""); len(tree.packages) != 0 {
		t.Errorf("%d packages, want none", len(tree.packages))
	}
}

func TestFindingString(t *testing.T) {
	for want, f := range map[string]Finding{
		"a.go:3: bad": {"a.go", 3, "bad"},
		"a.go: bad":   {"a.go", 0, "bad"},
	} {
		if got := f.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}
