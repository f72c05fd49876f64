package tables

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/recordstest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// small is a run of a peer, of which nothing is known but its rate.
func small(peer string, rate float64) runner.Record {
	return runner.Record{
		Workload: contract.Echo, Peer: peer, Codec: "google", Callers: 100, Servers: 1, Clients: 1,
		Network: runner.Loopback, Round: 1, Calls: 1000, CallsPerSec: rate, Seconds: 3,
	}
}

func of(runs ...runner.Record) *comparison.Comparison {
	return comparison.New(&records.File{Runs: runs})
}

// TestRuns prints all that a comparison has: every point with a table, what was
// not made, what failed and what was disturbed, and by what.
func TestRuns(t *testing.T) {
	file := recordstest.File()
	failing, disturbed := small("weft", 10), small("weft", 10)
	failing.Callers, failing.Failures, failing.FirstError = 7, 3, "the thread broke"
	disturbed.Callers, disturbed.Disturbed, disturbed.OtherCPU = 8, true, 41.5
	disturbed.Others = []runner.Other{{Name: "compile", CPU: 40}}
	file.Runs = append(file.Runs, failing, disturbed)
	var text strings.Builder
	c := comparison.New(file)
	for _, table := range Runs(c) {
		if err := table.Print(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.Points(func(comparison.Point) bool { return true }) {
		if n := strings.Count(text.String(), "\n"+records.Capital(p.Title())+"\n"); n != 1 && p != comparison.Plain(1) {
			t.Errorf("%d tables of %q", n, p.Title())
		}
	}
	for _, want := range []string{
		"Echo, 1 caller\n", "Encode\n", "at most 300 callers", "3  the thread broke", "other processes 41.5 % (compile 40.0 %)",
		"other machines on the host (steal) 12.0 %", "allocations c + s",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tables have no %q", want)
		}
	}
}

// TestPlaces has a row for every point at which weft was measured beside others.
func TestPlaces(t *testing.T) {
	c := comparison.New(recordstest.File())
	places := Places(c, c.Best())
	if points := c.Points(func(comparison.Point) bool { return true }); len(places.Rows) != len(points) {
		t.Errorf("%d rows for %d points", len(places.Rows), len(points))
	}
	alone := of(small("weft", 10))
	if rows := Places(alone, alone.Best()).Rows; len(rows) != 0 {
		t.Errorf("weft alone has the places %+v", rows)
	}
	two := of(small("weft", 10), small("drpc", 20))
	if got := Places(two, two.Best()).Rows[0].Cells[1]; got.Text != "2nd" || got.Small != "drpc 2.00 × ahead" {
		t.Errorf("weft, half as fast as drpc, is %+v", got)
	}
}

// TestMissingFigures: what was not measured is a dash, and nothing is computed
// from it.
func TestMissingFigures(t *testing.T) {
	c := of(small("weft", 10), small("drpc", 5))
	row := Costs(c, c.Same(), comparison.Plain(100)).Rows[0]
	for i, want := range []string{"", records.None, records.None, "0.00", "0.00", records.None} {
		if i > 0 && row.Cells[i].Text != want {
			t.Errorf("cell %d of %s is %q, want %q", i, row.Peer, row.Cells[i].Text, want)
		}
	}
	if cell := ratio(comparison.CPU(), c.Ratio(c.Same(), comparison.Plain(100), comparison.CPU(), comparison.Entry{Peer: "drpc", Codec: "google"})); cell.Text != records.None {
		t.Errorf("a ratio to nothing is %q", cell.Text)
	}
}

func TestMarks(t *testing.T) {
	disturbed, failing := small("weft", 10), small("weft", 10)
	disturbed.Disturbed, failing.Failures = true, 12
	e := comparison.Entry{Peer: "weft", Codec: "google"}
	tests := []struct {
		name string
		runs records.Runs
		want string
	}{
		{"quiet", records.Runs{small("weft", 10)}, "google"},
		{"disturbed", records.Runs{disturbed, small("weft", 10)}, "google †1/2"},
		{"failures", records.Runs{failing}, "google ‡12 failed"},
	}
	for _, tt := range tests {
		if got := name(e, tt.runs); got.Small != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got.Small, tt.want)
		}
	}
}

func TestHeat(t *testing.T) {
	for better, want := range map[float64]string{1: "even", 1.04: "even", 0.97: "even", 1.2: "better-1", 2: "better-2", 9: "better-3", 0.8: "worse-1", 0.5: "worse-2", 0.1: "worse-3"} {
		if got := heat(better); got != want {
			t.Errorf("%v times better is %s, want %s", better, got, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	more := func(peer string, callers int, rate float64) runner.Record {
		r := small(peer, rate)
		r.Callers, r.ClientCPU, r.P99 = callers, 1e6/rate, 1e6/rate
		return r
	}
	tests := []struct {
		name string
		runs []runner.Record
		want string
	}{
		{"everywhere", []runner.Record{more("weft", 100, 10), more("drpc", 100, 5)},
			"So, weft is first in calls per second, in CPU per call and in p99 latency at every number of callers."},
		{"not everywhere", []runner.Record{more("weft", 100, 10), more("drpc", 100, 5), more("weft", 500, 5), more("drpc", 500, 10)},
			"So, weft is first in calls per second at 1 of 2, in CPU per call at 1 of 2 and in p99 latency at 1 of 2 numbers of callers."},
	}
	for _, tt := range tests {
		c := of(tt.runs...)
		v := c.Same()
		v.Opening = "So"
		if got := Headline(c, v); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMedianOfRounds(t *testing.T) {
	var all []records.Codec
	for _, ns := range []float64{3, 100, 2} {
		all = append(all, records.Codec{Operation: "encode", Codec: "gob", NsPerOp: ns}, records.Codec{Operation: "encode", Codec: "json", NsPerOp: 50})
	}
	made := Codecs(comparison.New(&records.File{Codecs: all}))
	if len(made) != 1 || len(made[0].Rows) != 2 {
		t.Fatalf("the tables are %+v, want one with two rows", made)
	}
	if row := made[0].Rows[0]; row.Cells[0].Text != "gob" || row.Cells[2].Text != "3.00" {
		t.Errorf("the first row is %+v, want gob, with a median of 3", row)
	}
}
