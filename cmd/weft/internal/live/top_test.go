package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// TestLongTable draws more methods than the terminal has lines: the head of the table and the first rows stay on it.
func TestLongTable(t *testing.T) {
	const most = 10_000
	for _, c := range []struct{ methods, width, height, lines int }{
		{most, 0, 0, aboveRows + most}, {most, 40, 24, 23}, {20, 40, 24, 23}, {21, 40, 24, 23}, {19, 40, 24, 22}, {0, 40, 24, aboveRows + 1}, {3, 40, 2, aboveRows + 1},
	} {
		var out strings.Builder
		p := &shell.Shell{Out: &out, Terminal: true, Size: func() (int, int) { return c.width, c.height }}
		p.Settings.Output = "table"
		b := &board{p: p, o: &options{sort: "name"}, servers: []string{"a"}, now: map[string]*admin.Stats{"a": {}}, rows: make(map[string][]row)}
		for n := range c.methods {
			b.rows["a"] = append(b.rows["a"], row{Server: "a", Method: fmt.Sprintf("Orders.Method%05d\x1b[2J", n)})
		}
		if err := b.draw(true); err != nil {
			t.Fatal(err)
		}
		text, begun := strings.CutPrefix(out.String(), "\x1b[H")
		text, ended := strings.CutSuffix(text, "\x1b[J")
		if got := strings.Count(text, "\n"); !begun || !ended || got != c.lines {
			t.Errorf("%+v: the table has %d lines", c, got)
		}
		if strings.Contains(text, "\x1b[2J") || c.methods > 3 && !strings.Contains(text, "Orders.Method00000") {
			t.Errorf("%+v: the table is %.300q", c, text)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\x1b[K\r\n"); c.width > 0 && len(line) > c.width {
				t.Errorf("%+v: a line has %d columns: %q", c, len(line), line)
			}
		}
	}
}
