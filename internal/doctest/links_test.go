package doctest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// link is what stands in the parentheses behind a text in brackets.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks follows every link of every document that leads to a file of the
// repository, and to a heading in it.
func TestLinks(t *testing.T) {
	all := documents(t)
	known := make(map[string]document)
	for _, d := range all {
		known[d.name] = d
	}
	found := 0
	for _, d := range all {
		prose, _ := d.split()
		for i, line := range prose {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				found++
				if wrong := follow(d, m[1], known); wrong != "" {
					t.Errorf("%s: link to %s: %s", at(d, i+1), m[1], wrong)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no links were found")
	}
}

// follow returns what is wrong with a link of a document.
func follow(d document, target string, known map[string]document) string {
	file, anchor, hasAnchor := strings.Cut(target, "#")
	name := path.Join(path.Dir(d.name), file)
	if file == "" {
		name = d.name
	}
	if strings.HasPrefix(name, "..") || path.IsAbs(file) {
		return "it leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		return "there is no such file"
	}
	if !hasAnchor {
		return ""
	}
	seen := make(map[string]int)
	for _, h := range known[name].headings() {
		slug := slugOf(h.text)
		if seen[slug]++; seen[slug] > 1 {
			slug += "-" + string(rune('0'+seen[slug]-1))
		}
		if slug == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// slugOf is the anchor that a heading gets where the repository is shown.
func slugOf(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.ReplaceAll(text, "`", "")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestFollow(t *testing.T) {
	readme := document{"docs/PROTOCOL.md", []string{"# One `two`: three", "", "## Same", "## Same"}}
	known := map[string]document{readme.name: readme}
	tests := []struct{ target, want string }{
		{"../README.md", ""},
		{"PROTOCOL.md", ""},
		{"adr", ""},
		{"#one-two-three", ""},
		{"#same-1", ""},
		{"#same-2", "no such heading"},
		{"no-such.md", "no such file"},
		{"../../elsewhere", "leads out"},
	}
	for _, tt := range tests {
		if got := follow(readme, tt.target, known); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.target, got, tt.want)
		}
	}
}
