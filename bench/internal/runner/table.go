package runner

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
)

// key is what the rounds of one row have in common.
type key struct {
	workload contract.Workload
	callers  int
	where    string // what is not usual about the run, such as "2 servers"
	codec    string
	peer     string
}

func keyOf(r Record) key { return key{r.Workload, r.Callers, where(r), r.Codec, r.Peer} }

// where says what is not usual about a run, or "".
func where(r Record) string {
	var parts []string
	if r.Servers > 1 {
		parts = append(parts, fmt.Sprintf("%d servers", r.Servers))
	}
	if r.Clients > 1 {
		parts = append(parts, fmt.Sprintf("%d clients", r.Clients))
	}
	if r.Network == Namespaces {
		parts = append(parts, "veth")
	}
	if r.Quota > 0 {
		parts = append(parts, fmt.Sprintf("%d calls", r.Quota))
	}
	if r.Share > 0 {
		parts = append(parts, fmt.Sprintf("open, %.0f %%", 100*r.Share))
	}
	return strings.Join(parts, ", ")
}

// row is the records of one key, one for each round, without the failed runs.
type row struct {
	key
	records  []Record
	failures int64
}

// WriteTable writes the medians over the rounds as a Markdown table, with the
// least and the greatest value where noise shows most, and what failed below.
func WriteTable(w io.Writer, records []Record) error {
	rows := group(records)
	lines := [][]string{{
		"workload", "callers", "codec", "peer", "where", "conns", "calls/s", "p50 µs", "p99 µs", "p99.9 µs", "max µs",
		"CPU µs/call", "client + server", "allocs c + s", "writes/call", "reads/call", "RSS MB c + s", "failures",
	}}
	for _, r := range rows {
		lines = append(lines, r.cells())
	}
	if err := writeMarkdown(w, lines); err != nil {
		return err
	}
	if err := writeGates(w, rows); err != nil {
		return err
	}
	return writeErrors(w, records)
}

// group gathers rounds into rows: by workload, callers and codec, and within
// these in the order in which peers were asked for.
func group(records []Record) []*row {
	var rows []*row
	for _, record := range records {
		if record.Skipped != "" {
			continue
		}
		k := keyOf(record)
		i := slices.IndexFunc(rows, func(r *row) bool { return r.key == k })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &row{key: k})
		}
		rows[i].failures += record.Failures
		if record.Calls > 0 {
			rows[i].records = append(rows[i].records, record)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(a.workload, b.workload),
			cmp.Compare(a.where, b.where),
			cmp.Compare(a.callers, b.callers),
			cmp.Compare(a.codec, b.codec),
		)
	})
	return rows
}

// values is one field of all rounds, sorted.
func (r *row) values(field func(Record) float64) []float64 {
	all := make([]float64, len(r.records))
	for i, record := range r.records {
		all[i] = field(record)
	}
	slices.Sort(all)
	return all
}

// median of one field over the rounds; 0 if every run failed.
func (r *row) median(field func(Record) float64) float64 {
	all := r.values(field)
	if len(all) == 0 {
		return 0
	}
	middle := len(all) / 2
	if len(all)%2 == 0 {
		return (all[middle-1] + all[middle]) / 2
	}
	return all[middle]
}

// spread is the median of one field, with its least and greatest value if there
// was more than one round.
func (r *row) spread(field func(Record) float64) string {
	all := r.values(field)
	if len(all) < 2 {
		return number(r.median(field))
	}
	return fmt.Sprintf("%s (%s–%s)", number(r.median(field)), number(all[0]), number(all[len(all)-1]))
}

// sides is a field of the client and one of the server.
func (r *row) sides(client, server func(Record) float64) string {
	return number(r.median(client)) + " + " + number(r.median(server))
}

// The fields that have a column or a gate of their own.
func perSec(r Record) float64 { return r.CallsPerSec }
func p99(r Record) float64    { return r.P99 }

// allocs is what both sides allocated, for peers that count.
func (r *row) allocs() string {
	if len(r.records) == 0 || r.records[0].ClientAllocs == nil {
		return "–"
	}
	return r.sides(func(r Record) float64 { return *r.ClientAllocs }, func(r Record) float64 { return *r.ServerAllocs })
}

func (r *row) cells() []string {
	at := func(field func(Record) float64) string { return number(r.median(field)) }
	return []string{
		string(r.workload), strconv.Itoa(r.callers), r.codec, r.peer, r.where,
		strconv.Itoa(int(r.median(func(r Record) float64 { return float64(r.Conns) }))),
		r.spread(perSec),
		at(func(r Record) float64 { return r.P50 }),
		r.spread(p99),
		at(func(r Record) float64 { return r.P999 }),
		at(func(r Record) float64 { return r.Max }),
		r.spread(func(r Record) float64 { return r.ClientCPU + r.ServerCPU }),
		r.sides(func(r Record) float64 { return r.ClientCPU }, func(r Record) float64 { return r.ServerCPU }),
		r.allocs(),
		at(func(r Record) float64 { return r.WritesPerCall }),
		at(func(r Record) float64 { return r.ReadsPerCall }),
		r.sides(func(r Record) float64 { return r.ClientRSS }, func(r Record) float64 { return r.ServerRSS }),
		strconv.FormatInt(r.failures, 10),
	}
}

// number keeps three digits, and all of a larger integer part.
func number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// writeGates compares every workload with the plain one of the same row: how
// much the side calls disturb the main ones, how near sleeping calls come to
// running all at once.
func writeGates(w io.Writer, rows []*row) error {
	lines := [][]string{{
		"workload", "callers", "codec", "peer", "p99 µs alone", "p99 µs", "ratio",
		"calls/s alone", "calls/s", "of ideal", "side calls/s", "side p50 µs", "side p99 µs",
	}}
	for _, r := range rows {
		if r.mixed() && len(r.records) > 0 {
			lines = append(lines, r.gate(rows))
		}
	}
	if len(lines) == 1 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return writeMarkdown(w, lines)
}

// mixed says whether the row's workload is compared with the plain one.
func (r *row) mixed() bool {
	switch r.workload {
	case contract.Slow, contract.Delay, contract.Mixed, contract.Large:
		return r.where == ""
	}
	return false
}

// gate is the row's line in the second table, beside its plain row in rows.
func (r *row) gate(rows []*row) []string {
	const none = "–"
	cells := []string{
		string(r.workload), strconv.Itoa(r.callers), r.codec, r.peer,
		none, number(r.median(p99)), none, none, number(r.median(perSec)), none, none, none, none,
	}
	plain := key{contract.Echo, r.callers, r.where, r.codec, r.peer}
	if i := slices.IndexFunc(rows, func(r *row) bool { return r.key == plain }); i >= 0 && len(rows[i].records) > 0 {
		cells[7] = number(rows[i].median(perSec))
		if r.workload != contract.Delay {
			alone := rows[i].median(p99)
			cells[4], cells[6] = number(alone), number(r.median(p99)/alone)
		}
	}
	if ideal := r.records[0].Ideal; ideal > 0 {
		cells[9] = fmt.Sprintf("%.0f %%", 100*r.median(perSec)/ideal)
	} else {
		cells[10] = number(r.median(func(r Record) float64 { return r.SidePerSec }))
		cells[11] = number(r.median(func(r Record) float64 { return r.SideP50 }))
		cells[12] = number(r.median(func(r Record) float64 { return r.SideP99 }))
	}
	return cells
}

func writeErrors(w io.Writer, records []Record) error {
	for _, r := range records {
		if r.Skipped != "" {
			if _, err := fmt.Fprintf(w, "\nnot run: %s, %s, %s, %d callers: %s\n", r.Workload, r.Peer, r.Codec, r.Callers, r.Skipped); err != nil {
				return err
			}
		}
		if r.FirstError == "" {
			continue
		}
		_, err := fmt.Fprintf(w, "\nround %d, %s, %s, %s, %d callers: %d failures, the first: %s\n",
			r.Round, r.Workload, r.Peer, r.Codec, r.Callers, r.Failures, r.FirstError)
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMarkdown pads the cells so that the table reads well as plain text too.
func writeMarkdown(w io.Writer, lines [][]string) error {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	const textColumns = 4 // the workload, the callers, the codec and the peer are aligned to the left
	for n, cells := range lines {
		var b strings.Builder
		for i, cell := range cells {
			padding := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if i < textColumns {
				b.WriteString("| " + cell + padding + " ")
			} else {
				b.WriteString("| " + padding + cell + " ")
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			for i, width := range widths {
				if i < textColumns {
					b.WriteString("|" + strings.Repeat("-", width+2))
				} else {
					b.WriteString("|" + strings.Repeat("-", width+1) + ":")
				}
			}
			b.WriteString("|\n")
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}
