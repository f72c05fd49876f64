package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const topHelp = `Shows the methods of a server, or of all instances of a service in the registry, with their calls a second, the share that
fails, the times within which half and 99 of 100 calls end, and the calls in flight. On a terminal the table is drawn anew
at each interval, otherwise it is written again below. The figures are those of the last interval; a server that stands
still is left out. The servers need package admin.

A server that cannot be shown, or shuts down, is named on the standard error, or below the table. Instances that come later
are shown too, and those that fail are tried again. With --count it is those that there are: the first table waits for all
of them, up to --timeout, and the exit code is not 0 when one cannot be shown.`

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
			f, err := fleetOf(cmd.Context(), p, address, service, o.count == 0)
			if err != nil {
				return err
			}
			defer f.close()
			return top(cmd.Context(), p, o, f, service)
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
	failed  map[string]error
	now     map[string]*admin.Stats
	rows    map[string][]row
	seen    map[string]time.Time // when the last statistics of a server came
	fresh   map[string]bool      // servers that have sent statistics since the last table
	drawn   int
}

func top(ctx context.Context, p *shell.Shell, o *options, f *fleet, service string) error {
	b := &board{p: p, o: o, servers: f.servers, began: time.Now(), failed: make(map[string]error), now: make(map[string]*admin.Stats), rows: make(map[string][]row), seen: make(map[string]time.Time), fresh: make(map[string]bool)}
	req := &admin.WatchRequest{Interval: o.interval.Seconds(), Stats: admin.StatsRequest{Buckets: true}}
	if service != "" {
		req.Stats.Method = service + ".*"
	}
	live := p.Terminal && !p.Dumb && p.ForPeople()
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
	if live {
		if err := b.draw(live); err != nil {
			return err
		}
	}
	return follow(ctx, p, log, f, 0, open, func(m message[admin.Stats]) error {
		switch {
		case m.all != nil:
			b.change(m.all)
			return nil
		case m.err != nil:
			b.leave(m.server, m.err)
			if !live {
				return nil
			}
			return b.draw(live) // with why
		case m.value == nil || !b.take(m):
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

// change takes the list of all servers. Nothing stays of those that are gone: no table waits for them.
func (b *board) change(all []string) {
	b.servers = all
	forget(b.failed, all)
	forget(b.now, all)
	forget(b.rows, all)
	forget(b.seen, all)
	forget(b.fresh, all)
}

// forget drops the servers that are not among all.
func forget[V any](m map[string]V, all []string) {
	maps.DeleteFunc(m, func(server string, _ V) bool { return !slices.Contains(all, server) })
}

// leave leaves a server out that fails.
func (b *board) leave(server string, err error) {
	if !slices.Contains(b.servers, server) {
		return // it is gone
	}
	b.failed[server] = err
	delete(b.now, server)
	delete(b.rows, server)
	delete(b.fresh, server)
}

// take takes the statistics of a server. It reports whether a table is due: when all servers that are shown have answered
// since the last one, or one of them twice, so that a server that stands still holds up none of the others. Those of a server that is
// not listed any more, and still sends them, are not shown.
func (b *board) take(m message[admin.Stats]) (due bool) {
	if !slices.Contains(b.servers, m.server) {
		return false
	}
	before := b.now[m.server]
	b.now[m.server], b.seen[m.server] = m.value, time.Now()
	delete(b.failed, m.server)
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
	twice := b.fresh[m.server]
	b.fresh[m.server] = true
	if !twice && len(b.fresh) < len(b.shown()) || b.o.count > 0 && !b.complete() {
		return false
	}
	clear(b.fresh)
	if twice {
		b.fresh[m.server] = true
	}
	return true
}

// shown are the servers whose last statistics are not too old to be shown, in order.
func (b *board) shown() []string {
	return slices.DeleteFunc(slices.Clone(b.servers), func(s string) bool {
		return b.now[s] == nil || !b.seen[s].IsZero() && time.Since(b.seen[s]) > max(3*b.o.interval, standsStill)
	})
}

// standsStill is the least time after which a server that sends nothing is not shown any more.
const standsStill = 3 * time.Second

// complete reports whether each server has rows or has failed, or has had its time for that.
func (b *board) complete() bool {
	if time.Since(b.began) > b.p.Settings.Timeout+b.o.interval {
		return true
	}
	return !slices.ContainsFunc(b.servers, func(s string) bool {
		_, shown := b.rows[s]
		return !shown && b.failed[s] == nil
	})
}

// sorted are all rows in the order that was asked for.
func (b *board) sorted() []row {
	all := []row{}
	for _, s := range b.shown() {
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
	servers := b.shown()
	for _, s := range servers {
		inFlight, connections = inFlight+b.now[s].InFlight, connections+b.now[s].Connections
	}
	shown := shell.Plural(len(servers), "server")
	if len(servers) < len(b.servers) {
		shown = fmt.Sprintf("%d of %s", len(servers), shell.Plural(len(b.servers), "server"))
	}
	fmt.Fprintf(&text, "%s  %s, %s, %s in flight\n\n", time.Now().Format(time.TimeOnly), shown,
		shell.Plural(connections, "connection"), shell.Plural(inFlight, "call"))
	width, height := 0, 0
	if live && b.p.Size != nil {
		width, height = b.p.Size()
	}
	var why []string // of servers that are not shown
	for _, s := range b.servers {
		if live && b.failed[s] != nil {
			why = append(why, shell.OneLine(fmt.Sprintf("%s is not shown: %v", s, target.NoAdmin(b.failed[s]))))
		}
	}
	if height > 0 {
		height = max(height-len(why), aboveRows+2)
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
	if len(rows)+left == 0 && len(servers) > 0 {
		fmt.Fprintln(w, "no calls")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(&text, "%d more, for which the terminal has no lines\n", left)
	}
	for _, line := range why {
		fmt.Fprintln(&text, line)
	}
	if live {
		// The lines are written over the old ones, and what is behind them is cleared.
		var out strings.Builder
		for line := range strings.Lines(shell.Printable(text.String())) {
			out.WriteString(shell.Fit(strings.TrimSuffix(line, "\n"), width) + "\x1b[K\r\n")
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
