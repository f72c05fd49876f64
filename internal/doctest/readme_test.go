package doctest

import (
	"bytes"
	"context"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// maxReadme is how many lines a README may have: it says what weft is.
	maxReadme = 150
	// maxProgram is how many lines its first program may have.
	maxProgram = 60
)

func TestReadmeIsShort(t *testing.T) {
	for _, name := range []string{"README.md", "README_CN.md"} {
		if n := len(readDocument(t, name).lines); n > maxReadme {
			t.Errorf("%s has %d lines, at most %d are wanted", name, n, maxReadme)
		}
	}
}

// TestReadmeProgramRuns builds the program of the README, outside of any module's
// folder as a reader would, and compares its output with its comments.
func TestReadmeProgramRuns(t *testing.T) {
	var program string
	_, code := readDocument(t, "README.md").split()
	for _, b := range code {
		if b.language == "go" && strings.HasPrefix(b.text, "package main\n") {
			program = b.text
		}
	}
	if program == "" {
		t.Fatal("README.md has no program")
	}
	if n := strings.Count(program, "\n"); n >= maxProgram {
		t.Errorf("the program has %d lines, fewer than %d are wanted", n, maxProgram)
	}
	if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
		t.Errorf("the program is not formatted (%v)", err)
	}
	var want strings.Builder
	for _, m := range regexp.MustCompile(`fmt\.Println\(.*\) // (.*)\n`).FindAllStringSubmatch(program, -1) {
		want.WriteString(m[1] + "\n")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", file)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || want.Len() == 0 || string(out) != want.String() {
		t.Errorf("the program printed %q, want %q (%v)\n%s", out, want.String(), err, stderr.Bytes())
	}
}

// TestTourIsCompiled looks for the other Go code of the README, and for that of the
// tour, in tour_test.go, where it is compiled and runs.
func TestTourIsCompiled(t *testing.T) {
	b, err := os.ReadFile("tour_test.go")
	if err != nil {
		t.Fatal(err)
	}
	compiled := trimmed(string(b))
	for _, name := range []string{"README.md", "docs/guide/tour.md"} {
		_, code := readDocument(t, name).split()
		found := 0
		for _, b := range code {
			if b.language != "go" || strings.HasPrefix(b.text, "package ") {
				continue
			}
			found++
			if !contains(compiled, trimmed(b.text)) {
				t.Errorf("%s:%d: the code does not stand in internal/doctest/tour_test.go, line for line:\n%s", name, b.line, b.text)
			}
		}
		if found == 0 {
			t.Errorf("%s has no code but programs", name)
		}
	}
}

// trimmed are the lines of some code without the white space around them.
func trimmed(code string) []string {
	lines := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// contains reports whether part stands in all as one piece.
func contains(all, part []string) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// TestTwins compares the README with its Chinese twin: the same sections, the same
// code, the same figures, the same links.
func TestTwins(t *testing.T) {
	english, chinese := readDocument(t, "README.md"), readDocument(t, "README_CN.md")
	var levels [2][]int
	var texts, figures, links [2][]string
	for i, d := range []document{english, chinese} {
		for _, h := range d.headings() {
			levels[i] = append(levels[i], h.level)
		}
		prose, code := d.split()
		for _, b := range code {
			texts[i] = append(texts[i], b.language+"\n"+b.text)
		}
		inside := false
		for _, line := range prose {
			inside = inside || strings.HasPrefix(line, "<!-- figures:begin")
			if inside {
				figures[i] = append(figures[i], line)
			}
			inside = inside && !strings.HasPrefix(line, "<!-- figures:end")
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if !strings.HasPrefix(m[1], "README") {
					links[i] = append(links[i], m[1])
				}
			}
		}
		slices.Sort(links[i])
	}
	if !slices.Equal(levels[0], levels[1]) {
		t.Errorf("the headings have the levels %v and %v", levels[0], levels[1])
	}
	if !slices.Equal(texts[0], texts[1]) {
		t.Errorf("the code differs: %d and %d blocks", len(texts[0]), len(texts[1]))
	}
	if len(figures[0]) < 5 || !slices.Equal(figures[0], figures[1]) {
		t.Errorf("the figures differ:\n%s\n\n%s", strings.Join(figures[0], "\n"), strings.Join(figures[1], "\n"))
	}
	if !slices.Equal(links[0], links[1]) {
		t.Errorf("the links differ:\n%v\n%v", links[0], links[1])
	}
}
