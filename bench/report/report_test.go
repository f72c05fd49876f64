package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestDocumentsAgreeWithTheRecords fails when the records have changed without a
// run of 'make figures', or when a figure was changed by hand.
func TestDocumentsAgreeWithTheRecords(t *testing.T) {
	if err := run([]string{"-check", "-results", "../results", "-root", "../.."}, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
}

// record is a run of weft with figures that meet every goal.
func record(change func(*runner.Record)) runner.Record {
	r := runner.Record{Workload: contract.Echo, Peer: "weft", Codec: raw, Callers: 1000, Calls: 1000, Seconds: 3}
	r.CallsPerSec, r.P50, r.P99 = 100_000, 10, 1000
	r.ClientCPU, r.ServerCPU = 1, 1
	r.ClientAllocs, r.ServerAllocs = new(float64), new(0.016)
	if change != nil {
		change(&r)
	}
	return r
}

func TestGoals(t *testing.T) {
	tests := []struct {
		name    string
		goal    string
		records results
		want    verdict
	}{
		{"processor time at the limit", "processor time of a call, raw, 1,000 callers", results{record(nil)}, met},
		{"processor time beyond it", "processor time of a call, raw, 1,000 callers",
			results{record(func(r *runner.Record) { r.ClientCPU = 1.01 })}, missed},
		{"the median counts", "processor time of a call, raw, 1,000 callers",
			results{record(func(r *runner.Record) { r.ClientCPU = 9 }), record(nil), record(nil)}, met},
		{"another codec", "processor time of a call, vtproto, 1,000 callers", results{record(nil)}, noData},
		{"a run that failed as a whole", "processor time of a call, raw, 1,000 callers",
			results{record(func(r *runner.Record) { r.Calls = 0 })}, noData},
		{"fewer callers may cost more", "processor time of a call, raw, 100 callers",
			results{record(func(r *runner.Record) { r.Callers, r.ClientCPU = 100, 1.6 })}, met},
		{"allocations", "allocations of a call, both sides, raw, 1,000 callers", results{record(nil)}, met},
		{"too many allocations", "allocations of a call, both sides, raw, 1,000 callers",
			results{record(func(r *runner.Record) { r.ClientAllocs = new(1.0) })}, missed},
		{"five times grpc-go", "calls/s over grpc-go's, vtproto, 1,000 callers", beside("grpc-go", vtproto, 20_000, 2000), met},
		{"less than that", "calls/s over grpc-go's, vtproto, 1,000 callers", beside("grpc-go", vtproto, 20_001, 2000), missed},
		{"grpc-go was not measured", "calls/s over grpc-go's, vtproto, 1,000 callers", beside("grpc-go", vtproto, 20_000, 2000)[:1], noData},
		{"a shorter tail", "p99 over grpc-go's, vtproto, 1,000 callers", beside("grpc-go", vtproto, 20_000, 1000.1), met},
		{"the same tail", "p99 over grpc-go's, vtproto, 1,000 callers", beside("grpc-go", vtproto, 20_000, 1000), missed},
		{"near plain TCP", "calls/s over plain TCP's, a connection per caller, raw, 1,000 callers",
			each(133_000), met},
		{"far from it", "calls/s over plain TCP's, a connection per caller, raw, 1,000 callers", each(134_000), missed},
		{"one caller", "p50 over plain TCP's, raw, 1 caller", one(8.8), met},
		{"one caller, slower", "p50 over plain TCP's, raw, 1 caller", one(8.6), missed},
		{"a connection per call", "processor time of a call on a connection of its own, over plain TCP's, 1 caller", dialed(10, 13), met},
		{"a dear one", "processor time of a call on a connection of its own, over plain TCP's, 1 caller", dialed(10, 13.1), missed},
		{"sleepers side by side", "calls/s of a handler that sleeps 10 ms, 1,000 callers, over what is possible",
			second(contract.Delay, 1000, func(r *runner.Record) { r.CallsPerSec, r.Ideal = 75_000, 100_000 }), met},
		{"sleepers one behind the other", "calls/s of a handler that sleeps 10 ms, 1,000 callers, over what is possible",
			second(contract.Delay, 1000, func(r *runner.Record) { r.CallsPerSec, r.Ideal = 100, 100_000 }), missed},
		{"slow ones disturb little", "p99 of the others when one call in a hundred takes 5 ms, 1,000 callers",
			second(contract.Slow, 1000, func(r *runner.Record) { r.P99 = 2000 }), met},
		{"slow ones disturb much", "p99 of the others when one call in a hundred takes 5 ms, 1,000 callers",
			second(contract.Slow, 1000, func(r *runner.Record) { r.P99 = 2001 }), missed},
		{"small beside large", "p99 of small calls beside replies of 8 MiB, 100 callers",
			second(contract.Large, 100, func(r *runner.Record) { r.P99 = 2999 }), met},
		{"small behind large", "p99 of small calls beside replies of 8 MiB, 100 callers",
			second(contract.Large, 100, func(r *runner.Record) { r.P99 = 3000 }), missed},
	}
	for _, tt := range tests {
		list := goals(tt.records)
		i := slices.IndexFunc(list, func(g goal) bool { return g.what == tt.goal })
		if i < 0 {
			t.Errorf("%s: there is no goal %q", tt.name, tt.goal)
		} else if list[i].verdict != tt.want {
			t.Errorf("%s: %s, want %s: %+v", tt.name, list[i].verdict, tt.want, list[i])
		}
	}
}

// beside is weft and another peer with a thousand callers.
func beside(peer string, codec string, perSecond, p99 float64) results {
	return results{record(func(r *runner.Record) { r.Codec = codec }), record(func(r *runner.Record) {
		r.Peer, r.Codec, r.CallsPerSec, r.P99 = peer, codec, perSecond, p99
	})}
}

// each is weft with a connection per caller beside plain TCP.
func each(tcp float64) results {
	return results{record(func(r *runner.Record) { r.Peer = "weft:each" }), record(func(r *runner.Record) {
		r.Peer, r.CallsPerSec = "tcp", tcp
	})}
}

// one is one caller of weft beside one of plain TCP.
func one(tcp float64) results {
	return results{record(func(r *runner.Record) { r.Callers = 1 }), record(func(r *runner.Record) {
		r.Peer, r.Callers, r.P50 = "tcp", 1, tcp
	})}
}

// dialed is a connection for each call, of plain TCP and of weft, by processor time.
func dialed(tcp, weft float64) results {
	of := func(peer, codec string, cpu float64) runner.Record {
		return record(func(r *runner.Record) {
			r.Workload, r.Peer, r.Codec, r.Callers, r.ClientCPU, r.ServerCPU = contract.MathNew, peer, codec, 1, cpu, 0
		})
	}
	return results{of("tcp", raw, tcp), of("weft", vtproto, weft)}
}

// second is a workload beside the plain one.
func second(work contract.Workload, callers int, change func(*runner.Record)) results {
	plain := record(func(r *runner.Record) { r.Codec, r.Callers = vtproto, callers })
	mixed := plain
	mixed.Workload = work
	change(&mixed)
	return results{plain, mixed}
}

func TestFraction(t *testing.T) {
	if got := fraction(records.FigureOf([]float64{0.0156})); got != "0.016" {
		t.Errorf("got %q", got)
	}
	if got := fraction(records.Figure{}); got != records.None {
		t.Errorf("without rounds: %q", got)
	}
}

func TestFailuresAreShown(t *testing.T) {
	all := results{record(func(r *runner.Record) { r.Failures = 2 })}
	if summary := render(all, compared(), all)["summary"]; !strings.Contains(summary, "**2 calls failed**") {
		t.Errorf("no word of failed calls in %q", summary)
	}
}

func TestReplace(t *testing.T) {
	blocks := map[string]string{"goals": "| new |\n"}
	tests := []struct {
		name, document, want, wrong string
	}{
		{name: "filled", document: "a\n<!-- figures:begin goals -->\n<!-- figures:end -->\nb\n",
			want: "a\n<!-- figures:begin goals -->\n| new |\n<!-- figures:end -->\nb\n"},
		{name: "filled anew", document: "<!-- figures:begin goals -->\nold\n\nold\n<!-- figures:end -->",
			want: "<!-- figures:begin goals -->\n| new |\n<!-- figures:end -->"},
		{name: "none", document: "a\n", wrong: "no block"},
		{name: "unknown", document: "<!-- figures:begin gaols -->\n<!-- figures:end -->\n", wrong: `no block "gaols"`},
		{name: "no end", document: "<!-- figures:begin goals -->\nold\n", wrong: "does not end"},
		{name: "no beginning", document: "<!-- figures:end -->\n", wrong: "has not begun"},
		{name: "nested", document: "<!-- figures:begin goals -->\n<!-- figures:begin goals -->\n", wrong: "inside"},
	}
	for _, tt := range tests {
		got, err := replace([]byte(tt.document), blocks)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.wrong)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// TestRun writes documents and then finds them up to date, until one is changed.
func TestRun(t *testing.T) {
	root := t.TempDir()
	const empty = "# A page\n\n<!-- figures:begin goals -->\n<!-- figures:end -->\n"
	for _, name := range documents() {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(empty), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-results", "../results", "-root", root}
	check := append([]string{"-check"}, args...)
	if err := run(check, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "make figures") {
		t.Errorf("empty documents: error %v, want one that names the command", err)
	}
	for _, a := range [][]string{args, check} {
		if err := run(a, io.Discard, io.Discard); err != nil {
			t.Errorf("%v: %v", a, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "README.md")); err != nil || !strings.Contains(string(b), "goals are met") {
		t.Errorf("README.md holds no table: %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(root, picture)); err != nil || !strings.HasPrefix(string(b), "<svg ") {
		t.Errorf("the picture begins with %.40q, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(root, picture), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(check, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), picture) {
		t.Errorf("another picture: error %v, want one that names it", err)
	}
	wrong := [][]string{
		{"more"}, {"-spin"}, {"-results", "no-such-folder"}, {"-check", "-html", "x"}, {"-check", "-publish", "x"},
		{"-comparison", "../results/core.jsonl.gz"}, {"-comparison", "no-such-file", "-text"}, {"-publish", "no-such-file"},
	}
	for _, a := range wrong {
		if err := run(a, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", a)
		}
	}
}
