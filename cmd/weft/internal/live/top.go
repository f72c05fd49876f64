package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const topHelp = `Shows the methods of a server, or of all instances of a service in the registry, with their calls a second, the share that
fails, the times within which half and 99 of 100 calls end, and the calls in flight. On a terminal the table is drawn anew
at each interval, otherwise it is written again below. The figures are those of the last interval. The servers need
package admin. A server that cannot be shown is named on the standard error (on a terminal at the end), and the exit code
is not 0 then; with --count the first table waits for all servers, up to --timeout.`

const topExamples = `  weft top tcp://127.0.0.1:8972
  weft top Arith --sort p99
  weft top Arith --count 1 -o json`

// options are the flags of top.
type options struct {
	interval time.Duration
	count    int
	sort     string
	all      bool
}

// TopCommand shows a live table of methods.
func TopCommand(p *shell.Shell) *cobra.Command {
	o := new(options)
	orders := []string{"rate", "errors", "p50", "p99", "inflight", "name"}
	cmd := &cobra.Command{
		Use: "top [address or service]", GroupID: shell.GroupSee, Short: "Show a live table of methods", Long: topHelp, Example: topExamples,
		Args: shell.Arguments(0, 1), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(orders, o.sort) {
				return fmt.Errorf("--sort is %q, want %s; %w", o.sort, shell.Alternatives(orders), shell.ErrUsage)
			}
			if o.interval < 100*time.Millisecond || o.count < 0 {
				return fmt.Errorf("--interval is %v and --count %d, want at least 100ms and 0; %w", o.interval, o.count, shell.ErrUsage)
			}
			address, rest := target.Split(args)
			service := strings.Join(rest, "")
			servers, err := addresses(cmd.Context(), p, address, service)
			if err != nil {
				return err
			}
			return top(cmd.Context(), p, o, servers, service)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.interval, "interval", time.Second, "the `time` between two tables; at least 100ms")
	f.IntVar(&o.count, "count", 0, "end after this `number` of tables; 0: go on")
	f.StringVar(&o.sort, "sort", "rate", "the `column` to sort by: "+shell.Alternatives(orders))
	f.BoolVar(&o.all, "all", false, "show methods that were not called in the interval too")
	// The flag is there, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(orders, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// row is a method of a server in the last interval.
type row struct {
	Server   string  `json:"server"`
	Method   string  `json:"method"`
	Rate     float64 `json:"calls_per_second"`
	Errors   float64 `json:"failed_share"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	InFlight int     `json:"in_flight"`
	Calls    uint64  `json:"calls"`
}

// board is the table: the last statistics of each server, and its rows.
type board struct {
	p       *shell.Shell
	o       *options
	servers []string
	began   time.Time
	failed  map[string]bool
	now     map[string]*admin.Stats
	rows    map[string][]row
	drawn   int
}

func top(ctx context.Context, p *shell.Shell, o *options, servers []string, service string) error {
	b := &board{p: p, o: o, servers: servers, began: time.Now(), failed: make(map[string]bool), now: make(map[string]*admin.Stats), rows: make(map[string][]row)}
	req := &admin.WatchRequest{Interval: o.interval.Seconds(), Stats: admin.StatsRequest{Buckets: true}}
	if service != "" {
		req.Stats.Method = service + ".*"
	}
	live := p.Terminal && p.ForPeople()
	log := p.Log
	if live {
		var held strings.Builder // what belongs below the screen that is left
		log = &held
		fmt.Fprint(p.Screen(), "\x1b[?1049h\x1b[?25l") // another screen, without a cursor
		defer func() {
			fmt.Fprint(p.Screen(), "\x1b[?25h\x1b[?1049l")
			fmt.Fprint(p.Log, held.String())
		}()
	}
	open := func(ctx context.Context, t *target.Target) (*weft.Stream[admin.Stats, admin.WatchRequest], error) {
		return t.Admin(p).Watch(target.Context(ctx, p), req)
	}
	return follow(ctx, p, log, servers, open, func(m message[admin.Stats]) error {
		if m.err != nil {
			b.failed[m.server] = true
			delete(b.now, m.server)
			delete(b.rows, m.server)
			return nil
		}
		if !b.take(m) {
			return nil
		}
		if err := b.draw(live); err != nil {
			return err
		}
		if b.drawn++; o.count > 0 && b.drawn >= o.count {
			return errEnough
		}
		return nil
	})
}

// take takes the statistics of a server. It reports whether a table is due: when a server answers for the
// second time since the last table.
func (b *board) take(m message[admin.Stats]) (due bool) {
	before := b.now[m.server]
	b.now[m.server] = m.value
	if before == nil {
		return false // an interval has two ends
	}
	elapsed := m.value.At.Sub(before.At).Seconds()
	if elapsed <= 0 {
		elapsed = b.o.interval.Seconds()
	}
	earlier := make(map[string]*admin.MethodStats)
	for i := range before.Methods {
		earlier[before.Methods[i].Method] = &before.Methods[i]
	}
	var rows []row
	for i := range m.value.Methods {
		now, old := &m.value.Methods[i], earlier[m.value.Methods[i].Method]
		since := now.Since(old)
		if since.Calls == 0 && now.InFlight == 0 && !b.o.all || strings.HasPrefix(now.Method, admin.Service+".") {
			continue
		}
		r := row{m.server, now.Method, float64(since.Calls) / elapsed, 0, since.Latency.P50, since.Latency.P99, now.InFlight, now.Calls}
		if since.Calls > 0 {
			r.Errors = float64(since.Failed) / float64(since.Calls)
		}
		rows = append(rows, r)
	}
	b.rows[m.server] = rows
	return m.server == b.slowest() && (b.o.count == 0 || b.complete())
}

// complete reports whether each server has rows or has failed, or has had its time for that.
func (b *board) complete() bool {
	if time.Since(b.began) > b.p.Settings.Timeout+b.o.interval {
		return true
	}
	return !slices.ContainsFunc(b.servers, func(s string) bool {
		_, shown := b.rows[s]
		return !shown && !b.failed[s]
	})
}

// slowest is the first server in order that has sent statistics: a table is drawn with each of its
// messages.
func (b *board) slowest() string {
	for _, s := range b.servers {
		if b.now[s] != nil {
			return s
		}
	}
	return ""
}

// sorted are all rows in the order that was asked for.
func (b *board) sorted() []row {
	all := []row{}
	for _, s := range b.servers {
		all = append(all, b.rows[s]...)
	}
	by := map[string]func(r row) float64{
		"rate": func(r row) float64 { return r.Rate }, "errors": func(r row) float64 { return r.Errors },
		"p50": func(r row) float64 { return r.P50 }, "p99": func(r row) float64 { return r.P99 }, "inflight": func(r row) float64 { return float64(r.InFlight) },
	}[b.o.sort]
	slices.SortStableFunc(all, func(x, y row) int {
		if by != nil {
			if c := cmp.Compare(by(y), by(x)); c != 0 {
				return c
			}
		}
		return cmp.Or(strings.Compare(x.Method, y.Method), strings.Compare(x.Server, y.Server))
	})
	return all
}

// draw writes the table.
func (b *board) draw(live bool) error {
	rows := b.sorted()
	if !b.p.ForPeople() {
		var names []string
		for _, r := range rows {
			names = append(names, r.Method)
		}
		if b.p.Settings.Output == "name" {
			return b.p.Write(&shell.Listing{Names: names})
		}
		return b.p.WriteValue(rows, false)
	}
	var text strings.Builder
	inFlight, connections := 0, 0
	for _, s := range b.now {
		inFlight, connections = inFlight+s.InFlight, connections+s.Connections
	}
	shown := shell.Plural(len(b.now), "server")
	if len(b.now) < len(b.servers) {
		shown = fmt.Sprintf("%d of %s", len(b.now), shell.Plural(len(b.servers), "server"))
	}
	fmt.Fprintf(&text, "%s  %s, %s, %s in flight\n\n", time.Now().Format(time.TimeOnly), shown,
		shell.Plural(connections, "connection"), shell.Plural(inFlight, "call"))
	width, height := 0, 0
	if live && b.p.Size != nil {
		width, height = b.p.Size()
	}
	rows, left := fitting(rows, height)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	head := "METHOD\tRATE\tERRORS\tP50\tP99\tIN FLIGHT\tCALLS"
	if len(b.servers) > 1 {
		head += "\tSERVER"
	}
	fmt.Fprintln(w, head)
	for _, r := range rows {
		line := fmt.Sprintf("%s\t%.1f/s\t%.1f%%\t%v\t%v\t%d\t%d", shell.OneLine(r.Method), r.Rate, 100*r.Errors, shell.Seconds(r.P50), shell.Seconds(r.P99), r.InFlight, r.Calls)
		if len(b.servers) > 1 {
			line += "\t" + r.Server
		}
		fmt.Fprintln(w, line)
	}
	if len(rows)+left == 0 {
		fmt.Fprintln(w, "no calls")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(&text, "%d more, for which the terminal has no lines\n", left)
	}
	if live {
		// The lines are written over the old ones, and what is behind them is cleared.
		var out strings.Builder
		for line := range strings.Lines(shell.Printable(text.String())) {
			out.WriteString(cut(strings.TrimSuffix(line, "\n"), width) + "\x1b[K\r\n")
		}
		_, err := fmt.Fprint(b.p.Screen(), "\x1b[H"+out.String()+"\x1b[J")
		return err
	}
	_, err := fmt.Fprintln(b.p.Out, text.String())
	return err
}

// aboveRows is how many lines a table has above its rows.
const aboveRows = 3

// fitting are the rows that fit a terminal with so many lines, 0 for any, and how many are left out. The last line stays
// free for the cursor: a table that is higher than the terminal would scroll.
func fitting(rows []row, lines int) (shown []row, left int) {
	room := lines - aboveRows - 1
	if lines == 0 || len(rows) <= room {
		return rows, 0
	}
	room = max(room-1, 0) // for the line that says how many are left out
	return rows[:room], len(rows) - room
}

// cut is the beginning of a line that fits a terminal with so many columns, 0 for any.
func cut(line string, width int) string {
	if width == 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}
