package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

// entry is a peer on paper.
func entry(name, codec string, works ...contract.Workload) Entry {
	return Entry{Label: name, Codec: codec, Peer: Peer{
		Program: []string{"false"},
		Description: contract.Description{
			Peer: name, Codecs: []string{codec}, Workloads: works,
		},
	}}
}

func TestRoundsAreInterleaved(t *testing.T) {
	plan := Plan{
		Entries: []Entry{entry("a", "raw", contract.Echo, contract.Slow), entry("b", "gob", contract.Echo)},
		Points:  []Point{{Workload: contract.Echo, Callers: 1}, {Workload: contract.Slow, Callers: 9, Servers: 2}},
		Rounds:  2,
	}
	var got []string
	for _, r := range plan.runs() {
		got = append(got, fmt.Sprintf("%d %s %s %s, %d callers, %d servers, %d clients, %s", r.round, r.Label, r.Codec, r.Workload, r.Callers, r.Servers, r.Clients, r.Network))
	}
	var want []string
	for _, round := range []string{"1", "2"} {
		want = append(want,
			round+" a raw echo, 1 callers, 1 servers, 1 clients, loopback",
			round+" b gob echo, 1 callers, 1 servers, 1 clients, loopback",
			round+" a raw slow, 9 callers, 2 servers, 1 clients, loopback",
		)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if runs, _ := plan.Size(); runs != len(want) {
		t.Errorf("%d runs, want %d", runs, len(want))
	}
}

func TestPointsForSomeOnly(t *testing.T) {
	best, other, jit := entry("a", "raw", contract.Echo), entry("a", "raw", contract.Echo), entry("j", "xml", contract.Echo)
	best.Peer.Codecs = []string{"raw", "gob"}
	other.Peer.Codecs, other.Codec = best.Peer.Codecs, "gob"
	jit.Peer.Warmup = 8
	plan := Plan{
		Entries: []Entry{best, other, jit}, Rounds: 1,
		Points: []Point{
			{Workload: contract.Echo, Callers: 1}, {Workload: contract.Echo, Callers: 2, Best: true},
			{Workload: contract.Echo, Callers: 3, Swift: true},
		},
	}
	var got []string
	for _, r := range plan.runs() {
		got = append(got, fmt.Sprint(r.Codec, r.Callers))
	}
	if want := []string{"raw1", "gob1", "xml1", "raw2", "xml2", "raw3", "gob3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSizeOfAPlan(t *testing.T) {
	slow := entry("jit", "raw", contract.Echo)
	slow.Peer.Warmup, slow.Peer.MaxCallers = 8, 4
	tests := []struct {
		name  string
		entry Entry
		point Point
		runs  int
		takes time.Duration

		warmup time.Duration
	}{
		{
			name: "a time", entry: entry("a", "raw", contract.Echo), point: Point{Workload: contract.Echo, Callers: 1},
			runs: 2, takes: 2 * (500 + 1250 + 3000) * time.Millisecond,
		},
		{
			name: "a number of calls", entry: entry("a", "raw", contract.Echo), point: Point{Workload: contract.Echo, Callers: 1, Calls: 50_000},
			runs: 2, takes: 2 * (500 + 1250 + 2000) * time.Millisecond,
		},
		{
			name: "a compiler to warm up", entry: slow, point: Point{Workload: contract.Echo, Callers: 1},
			runs: 2, takes: 2 * (500 + 3000 + 10_000 + 3000) * time.Millisecond,
		},
		{
			name: "a warm-up that was asked for", entry: slow, point: Point{Workload: contract.Echo, Callers: 1}, warmup: 100 * time.Millisecond,
			runs: 2, takes: 2 * (500 + 3000 + 125 + 3000) * time.Millisecond,
		},
		{name: "too many callers", entry: slow, point: Point{Workload: contract.Echo, Callers: 5}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := Plan{Entries: []Entry{test.entry}, Points: []Point{test.point}, Rounds: 2, Warmup: test.warmup, Measure: 3 * time.Second}
			if runs, takes := plan.Size(); runs != test.runs || takes != test.takes {
				t.Errorf("%d runs, %v; want %d, %v", runs, takes, test.runs, test.takes)
			}
		})
	}
}

func TestTooManyCallersAreToldOnce(t *testing.T) {
	few := entry("few", "raw", contract.Echo)
	few.Peer.MaxCallers, few.Peer.MaxCallersWhy = 300, "it loses calls"
	plan := Plan{
		Entries: []Entry{few},
		Points: []Point{
			{Workload: contract.Echo, Callers: 300}, {Workload: contract.Echo, Callers: 301},
			{Workload: contract.Echo, Callers: 101, Clients: 3},
		},
		Rounds: 3, Stderr: io.Discard,
	}
	var skipped []Record
	err := plan.Run(t.Context(), func(Progress, Record) {}, func(r Record) error {
		if r.Skipped != "" {
			skipped = append(skipped, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(skipped) != 2 || skipped[1].Clients != 3 {
		t.Fatalf("records of skipped runs: %+v, want 2", skipped)
	}
	r := skipped[0]
	if r.Callers != 301 || r.Calls != 0 || r.Failures != 0 || r.Skipped != "at most 300 callers: it loses calls" {
		t.Errorf("%+v", r)
	}
}

func TestAPlanGoesOnAfterARunThatFailed(t *testing.T) {
	plan := Plan{
		Entries: []Entry{entry("a", "raw", contract.Echo)},
		Points:  []Point{{Workload: contract.Echo, Callers: 1}, {Workload: contract.Echo, Callers: 2}},
		Rounds:  1, Stderr: io.Discard,
	}
	var records []Record
	begun := 0
	begin := func(at Progress, r Record) {
		if at.Done != begun || at.Of != 2 || at.Left <= 0 || r.Peer != "a" {
			t.Errorf("begin %+v, %s", at, r.Peer)
		}
		begun++
	}
	err := plan.Run(t.Context(), begin, func(r Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records {
		if r.Failures == 0 || r.Calls != 0 || !strings.Contains(r.FirstError, "exit status 1") {
			t.Errorf("a child that ends at once gave %+v", r)
		}
	}
	quiet := func(Progress, Record) {}
	full := errors.New("disk full")
	if err := plan.Run(t.Context(), quiet, func(Record) error { return full }); !errors.Is(err, full) {
		t.Errorf("error %v, want that of emit", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := plan.Run(ended, quiet, func(Record) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestAnEmptyPlanIsAnError(t *testing.T) {
	plan := Plan{
		Entries: []Entry{entry("a", "raw", contract.Echo)},
		Points:  []Point{{Workload: contract.Math, Callers: 1}}, Rounds: 1, Stderr: io.Discard,
	}
	if err := plan.Run(t.Context(), nil, nil); err == nil {
		t.Error("a plan without runs did nothing and said nothing")
	}
}

func TestCapacityIsTheMedianOfTheSameClosedLoops(t *testing.T) {
	closed := Record{
		Workload: contract.Echo, Peer: "a", Codec: "raw", Callers: 100, Servers: 1, Clients: 1, Network: Loopback,
		Calls: 1, CallsPerSec: 1000,
	}
	other := func(change func(r *Record)) Record {
		r := closed
		r.CallsPerSec = 1e9
		change(&r)
		return r
	}
	slower, faster := other(func(r *Record) { r.CallsPerSec = 900 }), other(func(r *Record) { r.CallsPerSec = 5000 })
	unlike := []Record{
		other(func(r *Record) { r.Peer = "b" }), other(func(r *Record) { r.Codec = "gob" }),
		other(func(r *Record) { r.Callers = 1 }), other(func(r *Record) { r.Share = 0.5 }),
		other(func(r *Record) { r.Servers = 2 }), other(func(r *Record) { r.Clients = 2 }),
		other(func(r *Record) { r.Network = Namespaces }), other(func(r *Record) { r.Calls = 0 }),
		other(func(r *Record) { r.Workload = contract.Slow }),
	}
	open := run{Entry: entry("a", "raw"), Point: Point{Workload: contract.Echo, Callers: 100, Share: 0.5}}
	tests := []struct {
		name string
		made []Record
		want float64
	}{
		{"nothing made", nil, 0},
		{"none alike", unlike, 0},
		{"one", append(unlike, closed), 1000},
		{"three", append(unlike, faster, closed, slower), 1000},
	}
	for _, test := range tests {
		if got := capacity(open, test.made); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// real is the peer tcp as a program of its own.
func real(t *testing.T) Entry {
	t.Helper()
	peers, err := Describe(t.Context(), program(t, asGood), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Find(peers, "tcp")
	if err != nil {
		t.Fatal(err)
	}
	e.Codec = "raw"
	return e
}

// runPlan runs points with real processes, a short time each.
func runPlan(t *testing.T, points ...Point) (records []Record, said string) {
	t.Helper()
	var stderr output
	plan := Plan{
		Entries: []Entry{real(t)}, Points: points, Rounds: 1,
		Warmup: 20 * time.Millisecond, Measure: 200 * time.Millisecond, Stderr: &stderr,
	}
	err := plan.Run(t.Context(), func(Progress, Record) {}, func(r Record) error {
		records = append(records, r)
		if r.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", r.Title(), r.Failures, r.FirstError)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, stderr.String()
}

func TestRunsOfRealProcesses(t *testing.T) {
	records, _ := runPlan(t,
		Point{Workload: contract.Echo, Callers: 4},
		Point{Workload: contract.Echo, Callers: 4, Servers: 2},
		Point{Workload: contract.Echo, Callers: 4, Clients: 3, Calls: 200},
		Point{Workload: contract.Echo, Callers: 4, Share: 0.5},
		Point{Workload: contract.Echo, Callers: 3, Share: 0.5},
	)
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	closed, two, three, open, unknown := records[0], records[1], records[2], records[3], records[4]
	for _, r := range records[:4] {
		for name, value := range map[string]float64{
			"calls": float64(r.Calls), "calls/s": r.CallsPerSec, "min": r.Min, "p50": r.P50, "max": r.Max, "server CPU": r.ServerCPU, "client CPU": r.ClientCPU,
			"writes": r.WritesPerCall, "reads": r.ReadsPerCall, "client RSS": r.ClientRSS, "server RSS": r.ServerRSS, "seconds": r.Seconds,
		} {
			if value <= 0 {
				t.Errorf("%s: %s is %v", r.Title(), name, value)
			}
		}
		// A request and a reply of 585 bytes, each with 52 or more of headers.
		if r.BytesPerCall < 1200 || r.PacketsPerCall < 2 || r.ServerAllocs == nil || len(r.Curve) != len(CurvePoints()) {
			t.Errorf("%s: %v bytes, %v packets, curve %v", r.Title(), r.BytesPerCall, r.PacketsPerCall, r.Curve)
		}
	}
	if closed.Conns != 4 || two.Conns != 4 || two.Servers != 2 {
		t.Errorf("%d and %d connections, want one for each caller", closed.Conns, two.Conns)
	}
	if three.Conns != 12 || three.Calls != 600 || three.Clients != 3 || three.Quota != 200 {
		t.Errorf("three clients: %d connections, %d calls", three.Conns, three.Calls)
	}
	if open.Rate != 0.5*closed.CallsPerSec || open.Calls == 0 {
		t.Errorf("open loop of %v calls/s, half of %v", open.Rate, closed.CallsPerSec)
	}
	if unknown.Skipped == "" || unknown.Calls != 0 {
		t.Errorf("an open loop without a closed one before: %+v", unknown)
	}
}

func TestNamespaces(t *testing.T) {
	before := namespaces()
	records, said := runPlan(t,
		Point{Workload: contract.Echo, Callers: 2, Network: Namespaces},
		Point{Workload: contract.Echo, Callers: 2},
	)
	_, missing := exec.LookPath("ip")
	if os.Geteuid() != 0 || missing != nil {
		if len(records) != 1 || !strings.Contains(said, "needs root and iproute2") {
			t.Errorf("%d records, and on standard error %q; want the other run made, and the reason told", len(records), said)
		}
		return
	}
	if len(records) != 2 || records[0].Network != Namespaces || records[0].Calls == 0 {
		t.Fatalf("%+v, %s", records, said)
	}
	if after := namespaces(); after != before {
		t.Errorf("namespaces before %q, after %q", before, after)
	}
}

// namespaces lists those of this process.
func namespaces() string {
	out, _ := exec.Command("ip", "netns", "list").Output() // fails without ip: then there are none
	var own []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, fmt.Sprint(os.Getpid())) {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

func TestAServerThatDies(t *testing.T) {
	good := real(t)
	// Serves for a moment longer than it takes to warm up, then dies.
	body := `case $1 in serve) timeout -s KILL 1 "` + good.Peer.Program[0] + `" good "$@" ;; *) exec "` + good.Peer.Program[0] + `" good "$@" ;; esac`
	good.Peer.Program = script(t, body)
	plan := Plan{
		Entries: []Entry{good}, Points: []Point{{Workload: contract.Echo, Callers: 2}}, Rounds: 1,
		Warmup: 20 * time.Millisecond, Measure: 3 * time.Second, Stderr: io.Discard,
	}
	begin := time.Now()
	err := plan.Run(t.Context(), func(Progress, Record) {}, func(r Record) error {
		if r.Failures == 0 || r.FirstError == "" {
			t.Errorf("a server that died gave %+v", r)
		}
		return nil
	})
	if err != nil || time.Since(begin) > patient {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
