package table

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMarkdown(t *testing.T) {
	tests := []struct {
		name string
		rows []Row
		want string
	}{
		{"no rows", nil, ""},
		{"text and figures", []Row{{Cells: []Cell{Plain("a"), {Text: "1", Small: "(0–2)"}}}}, "| a | 1 (0–2) |\n"},
		{"ours is bold", []Row{{Class: Ours, Cells: []Cell{Plain("weft"), {Text: "1", Small: "(0–2)"}}}}, "| **weft** | **1** (0–2) |\n"},
		{"a mark is in italics", []Row{{Class: Mark, Cells: []Cell{{Text: "tcp", Small: "raw"}, Plain("1")}}}, "| *tcp* raw | 1 |\n"},
		{"a cell cannot end", []Row{{Cells: []Cell{Plain("a|b\nc"), Plain("<script>")}}}, "| a\\|b c | &lt;script> |\n"},
	}
	const head = "| peer | rate calls/s |\n|---|---:|\n"
	for _, tt := range tests {
		table := Table{Head: []Column{Text("peer"), Figures("rate", "calls/s")}, Rows: tt.rows}
		if got := table.Markdown(); got != head+tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, head+tt.want)
		}
	}
}

// TestPrint: columns are aligned, and no text ends a line.
func TestPrint(t *testing.T) {
	table := Table{
		Caption: "A table", Head: []Column{Text("peer"), Figures("rate", "calls/s")},
		Rows: []Row{{Cells: []Cell{Plain("weft"), {Text: "1", Small: "(0–2)"}}}, {Cells: []Cell{Plain("a\nb\tc"), Plain("10")}}},
	}
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = "A table\n  peer   rate calls/s\n  weft        1 (0–2)\n  a b c            10\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
