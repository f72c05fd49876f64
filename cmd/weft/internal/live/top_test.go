package live

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestStandstill has servers that stop to send statistics: the others are drawn at each interval, and it is left out.
func TestStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &shell.Shell{Out: io.Discard}
		p.Settings.Output = "table"
		b := &board{p: p, o: &options{sort: "name", interval: time.Second, all: true}, servers: []string{"a", "b", "c"}, began: time.Now(),
			now: make(map[string]*admin.Stats), rows: make(map[string][]row), seen: make(map[string]time.Time), fresh: make(map[string]bool)}
		tables, sends := 0, []string{"a", "b", "c"}
		second := func() {
			for _, s := range sends {
				stats := &admin.Stats{At: time.Now(), Methods: []admin.MethodStats{{Method: "Arith.Mul"}}}
				if b.take(message[admin.Stats]{server: s, value: stats}) {
					tables++
				}
			}
			time.Sleep(time.Second)
		}
		for range 3 {
			second()
		}
		if tables != 2 || len(b.sorted()) != 3 {
			t.Errorf("in two intervals there are %d tables, and %d rows in the last", tables, len(b.sorted()))
		}
		tables, sends = 0, []string{"b", "c"} // the first stands still
		for range 6 {
			second()
		}
		if rows := b.sorted(); tables < 5 || len(rows) != 2 || rows[0].Server != "b" {
			t.Errorf("in six intervals there are %d tables, and in the last %v", tables, rows)
		}
	})
}

// TestGone has a server leave the list while it still sends statistics: no table counts it, and nothing of it is kept.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &shell.Shell{Out: io.Discard}
		p.Settings.Output = "table"
		b := &board{p: p, o: &options{sort: "name", interval: time.Second, all: true}, servers: []string{"a", "b", "c"}, began: time.Now(), failed: make(map[string]error),
			now: make(map[string]*admin.Stats), rows: make(map[string][]row), seen: make(map[string]time.Time), fresh: make(map[string]bool)}
		send := func(server string) (due bool) {
			return b.take(message[admin.Stats]{server: server, value: &admin.Stats{At: time.Now(), Methods: []admin.MethodStats{{Method: "Arith.Mul"}}}})
		}
		for _, s := range b.servers {
			send(s)
		}
		time.Sleep(time.Second)
		send("a")
		b.change([]string{"b", "c"})
		if send("a") || send("b") {
			t.Error("a table is due before all that are left have sent statistics")
		}
		b.leave("a", io.EOF)
		if !send("c") {
			t.Error("no table is due though all that are left have sent statistics")
		}
		if rows := b.sorted(); len(rows) != 2 || len(b.now) != 2 || len(b.seen) != 2 || len(b.failed) != 0 {
			t.Errorf("the rows are %v, of %d servers statistics are kept, and errors of %d", rows, len(b.now), len(b.failed))
		}
	})
}
