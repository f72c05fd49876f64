// Package doctest checks the documents against the code: links lead to files and
// headings, the programs of the README run, its two languages have the same content,
// and the tests, defaults, packages, functions and goroutines that the documents name
// exist.
package doctest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// root is the folder of the repository.
const root = "../.."

// document is one Markdown file.
type document struct {
	name  string // from the root
	lines []string
}

func readDocument(t *testing.T, name string) document {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return document{name, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")}
}

// documents are all Markdown files of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(name) == ".md":
			all = append(all, readDocument(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// block is fenced code.
type block struct {
	line     int // of the fence
	language string
	text     string
}

// split tells the prose of a document from its fenced code. A line of code is
// empty in the prose, so that the numbers of the lines stay.
func (d document) split() (prose []string, code []block) {
	var open *block
	for i, line := range d.lines {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{line: i + 1, language: fence}
		case isFence:
			code = append(code, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			prose = append(prose, line)
			continue
		}
		prose = append(prose, "")
	}
	return prose, code
}

// heading is a line that begins with #.
type heading struct {
	level int
	text  string
}

func (d document) headings() []heading {
	prose, _ := d.split()
	var all []heading
	for _, line := range prose {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if text, ok := strings.CutPrefix(line[marks:], " "); ok && marks > 0 {
			all = append(all, heading{marks, strings.TrimSpace(text)})
		}
	}
	return all
}

// section is the prose from one heading to the next of the same or a higher level.
func (d document) section(t *testing.T, title string) []string {
	t.Helper()
	prose, _ := d.split()
	var out []string
	level := 0
	for _, line := range prose {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case level == 0 && marks > 0 && strings.TrimSpace(line[marks:]) == title:
			level = marks
		case level > 0 && marks > 0 && marks <= level:
			return out
		case level > 0:
			out = append(out, line)
		}
	}
	if level == 0 {
		t.Fatalf("%s has no section %q", d.name, title)
	}
	return out
}

// rows are the cells of the tables in some lines, without heads and rulers.
func rows(lines []string) [][]string {
	var all [][]string
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|-") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

// quoted are the texts between backquotes.
func quoted(s string) []string {
	var all []string
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

func at(d document, line int) string { return fmt.Sprintf("%s:%d", d.name, line) }
