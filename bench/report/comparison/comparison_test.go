package comparison

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
	"github.com/weftrpc/weft/bench/report/recordstest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// run is a plain run with a rate; its latencies and its processor time are such
// that a higher rate is better by all.
func run(peer, codec string, callers, round int, rate float64) runner.Record {
	r := runner.Record{
		Workload: contract.Echo, Peer: peer, Codec: codec, Callers: callers, Servers: 1, Clients: 1,
		Network: runner.Loopback, Round: round, Calls: 1000, CallsPerSec: rate,
		Time: time.Date(2026, 1, 1, round, 0, 0, 0, time.UTC),
	}
	r.P50, r.P99, r.P999, r.ClientCPU, r.ClientRSS = 1e6/rate, 1e6/rate, 1e6/rate, 1e6/rate, 1e6/rate
	return r
}

func of(runs ...runner.Record) *Comparison { return New(&records.File{Runs: runs}) }

func TestStanding(t *testing.T) {
	tests := []struct {
		name  string
		runs  []runner.Record
		want  Standing
		first bool
	}{
		{"no other peer", []runner.Record{run("weft", "google", 100, 1, 10)}, Standing{Place: 1, Of: 1}, false},
		{"only marks", []runner.Record{run("weft", "google", 100, 1, 10), run("floor", "google", 100, 1, 99)}, Standing{Place: 1, Of: 1}, false},
		{"no weft", []runner.Record{run("drpc", "google", 100, 1, 10)}, Standing{Place: 1, Of: 1}, false},
		{"first", []runner.Record{run("weft", "google", 100, 1, 10), run("drpc", "google", 100, 1, 5), run("grpc-go", "google", 100, 1, 2)},
			Standing{Known: true, Place: 1, Of: 3, Rival: Entry{"drpc", "google"}, Lead: 2, Every: true}, true},
		{"second", []runner.Record{run("weft", "google", 100, 1, 10), run("drpc", "google", 100, 1, 20), run("grpc-go", "google", 100, 1, 2)},
			Standing{Known: true, Place: 2, Of: 3, Rival: Entry{"drpc", "google"}, Lead: 0.5, Every: true}, false},
		{"another codec does not count", []runner.Record{run("weft", "google", 100, 1, 10), run("drpc", "vtproto", 100, 1, 20), run("drpc", "google", 100, 1, 8)},
			Standing{Known: true, Place: 1, Of: 2, Rival: Entry{"drpc", "google"}, Lead: 1.25, Every: true}, true},
		// In absolute figures drpc's median of 10 is above weft's of 9; in each
		// round but one weft is faster.
		{"rounds are compared with themselves", []runner.Record{
			run("weft", "google", 100, 1, 4), run("drpc", "google", 100, 1, 2),
			run("weft", "google", 100, 2, 9), run("drpc", "google", 100, 2, 12),
			run("weft", "google", 100, 3, 20), run("drpc", "google", 100, 3, 10),
		}, Standing{Known: true, Place: 1, Of: 2, Rival: Entry{"drpc", "google"}, Lead: 2, Every: false}, true},
	}
	for _, tt := range tests {
		c := of(tt.runs...)
		for _, m := range []Metric{Throughput(), CPU(), P99()} {
			got := c.Standing(c.Same(), Plain(100), m)
			if got.Lead > 0 {
				got.Lead = float64(int(got.Lead*1e6+0.5)) / 1e6
			}
			if got != tt.want || got.First() != tt.first {
				t.Errorf("%s, by %s: %+v, first %v; want %+v, %v", tt.name, m.Name, got, got.First(), tt.want, tt.first)
			}
		}
	}
}

func TestViews(t *testing.T) {
	c := of(
		run("weft", "google", 100, 1, 10), run("weft", "vtproto", 100, 1, 15), run("weft", "raw", 100, 1, 99), run("weft", "reuse", 100, 1, 40),
		run("net-rpc", "json", 100, 1, 3), run("net-rpc", "gob", 100, 1, 9), run("tcp", "raw", 100, 1, 50),
		run("dubbo", "protobuf", 100, 1, 4),
	)
	tests := []struct {
		name string
		view View
		want string
	}{
		{"same", c.Same(), "weft google, dubbo protobuf"},
		{"best", c.Best(), "weft vtproto, net-rpc gob, tcp raw, dubbo protobuf"},
	}
	for _, tt := range tests {
		var names []string
		for _, e := range tt.view.Entries {
			names = append(names, e.String())
		}
		if got := strings.Join(names, ", "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestOtherCodec: at points at which a peer was not measured with its fastest codec, the one with which it was stands in.
func TestOtherCodec(t *testing.T) {
	slow := func(peer, codec string, rate float64) runner.Record {
		r := run(peer, codec, 100, 1, rate)
		r.Workload = contract.Slow
		return r
	}
	c := of(
		run("weft", "generated", 100, 1, 20), run("weft", "google", 100, 1, 10), slow("weft", "google", 10),
		run("grpc-go", "vtproto", 100, 1, 6), run("grpc-go", "google", 100, 1, 5), slow("grpc-go", "google", 4),
	)
	p := c.Points(func(p Point) bool { return p != Plain(100) })[0]
	best := c.Best()
	if got := c.Standing(best, Plain(100), Throughput()); got.Lead < 3.3 || got.Lead > 3.4 {
		t.Errorf("at the plain point weft is %v × ahead, want 20 / 6", got.Lead)
	}
	if got := c.Standing(best, p, Throughput()); got.Lead != 2.5 {
		t.Errorf("at %s weft is %v × ahead, want 10 / 4", p.Title(), got.Lead)
	}
	if got := c.Ranked(best, p, Throughput()); len(got) != 2 || got[0].Codec != "google" {
		t.Errorf("at %s there are %v", p.Title(), got)
	}
}

// TestSameCode: the code is the one that compares weft with the most peers.
func TestSameCode(t *testing.T) {
	tests := []struct {
		name  string
		runs  []runner.Record
		codec string
		views int
	}{
		{"one each", []runner.Record{run("weft", "google", 1, 1, 1), run("drpc", "google", 1, 1, 1), run("weft", "vtproto", 1, 1, 1), run("drpc", "vtproto", 1, 1, 1)}, "google", 2},
		{"vtprotobuf alone", []runner.Record{run("weft", "vtproto", 1, 1, 1), run("drpc", "vtproto", 1, 1, 1), run("dubbo", "google", 1, 1, 1)}, "vtproto", 2},
		{"only marks", []runner.Record{run("weft", "google", 1, 1, 1), run("floor", "google", 1, 1, 1)}, "google", 1},
	}
	for _, tt := range tests {
		c := of(tt.runs...)
		if got := c.Same().Entries[0].Codec; got != tt.codec {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.codec)
		}
		if n := len(c.Views()); n != tt.views {
			t.Errorf("%s: %d views, want %d", tt.name, n, tt.views)
		}
	}
}

func TestClaims(t *testing.T) {
	both := func(callers int, ours, theirs float64) []runner.Record {
		return []runner.Record{run("weft", "google", callers, 1, ours), run("drpc", "google", callers, 1, theirs)}
	}
	tests := []struct {
		name   string
		runs   []runner.Record
		claim  int
		known  bool
		holds  bool
		phrase string
	}{
		{"no runs with many callers", both(1, 2, 1), 0, false, false, ""},
		{"first everywhere", append(both(100, 2, 1), both(500, 3, 1)...), 0, true, true, "first at 2 of 2"},
		{"behind somewhere", append(both(100, 2, 1), both(500, 1, 3)...), 1, true, false, "first at 1 of 2; drpc google is 3.00 × better at 500"},
		{"ahead with one caller", both(1, 2, 1), 2, true, true, "first, 2.00 × better than drpc google"},
		{"little behind with one caller", both(1, 100, 109), 2, true, true, "drpc google is 1.09 × better"},
		{"too far behind with one caller", both(1, 100, 112), 2, true, false, "drpc google is 1.12 × better"},
	}
	for _, tt := range tests {
		got := of(tt.runs...).Claims()[tt.claim]
		if got.Known != tt.known || got.Holds != tt.holds || got.Measured != tt.phrase {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestDefeats(t *testing.T) {
	c := of(
		run("weft", "google", 100, 1, 10), run("drpc", "google", 100, 1, 30), run("floor", "google", 100, 1, 90), run("weft:each", "google", 100, 1, 80),
		run("weft", "google", 500, 1, 10), run("drpc", "google", 500, 1, 11),
		run("weft", "google", 500, 2, 10), run("drpc", "google", 500, 2, 9.5),
		run("weft", "google", 1000, 1, 10), run("drpc", "google", 1000, 1, 5),
	)
	all := c.Defeats(c.Same())
	if len(all) != len(judged()) {
		t.Fatalf("%d defeats, want one for each metric: %+v", len(all), all)
	}
	for _, d := range all {
		if d.Entry.Peer != "drpc" || d.Most < 2.9 || d.Most > 3.1 || d.Places() != "echo 100, 500 ~" {
			t.Errorf("%s by %s, %v times: %q", d.Entry, d.Metric.Name, d.Most, d.Places())
		}
	}
	if won := of(run("weft", "google", 100, 1, 10), run("drpc", "google", 100, 1, 9)); len(won.Defeats(won.Same())) != 0 {
		t.Error("a defeat without one")
	}
}

func TestGaps(t *testing.T) {
	skipped, failed := run("motan", "google", 5000, 1, 0), run("motan", "google", 100, 1, 0)
	skipped.Calls, skipped.Skipped = 0, "at most 300 callers: why"
	failed.Calls, failed.Failures, failed.FirstError = 0, 1, "gone"
	again := failed
	again.Round = 2
	c := of(skipped, failed, again, run("weft", "google", 100, 1, 1))
	want := []Gap{
		{"motan google, echo, 5,000 callers", "at most 300 callers: why", 1},
		{"motan google, echo, 100 callers", "gone", 2},
	}
	got := c.Gaps()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n := len(c.At(Plain(100), Entry{"motan", "google"})); n != 0 {
		t.Errorf("%d runs that failed as a whole have figures", n)
	}
}

func TestAsked(t *testing.T) {
	for made, want := range map[int64]int64{10_000: 10_000, 9_998: 10_000, 400_003: 400_000, 12_345: 0, 7: 0, 0: 0} {
		if got := asked(made); got != want {
			t.Errorf("%d calls: asked for %d, want %d", made, got, want)
		}
	}
}

// TestPoints: runs of one kind are one point, and kinds are kept apart.
func TestPoints(t *testing.T) {
	c := New(recordstest.File())
	seen := make(map[string]Point)
	for _, p := range c.Points(func(Point) bool { return true }) {
		title := p.Title()
		if other, twice := seen[title]; twice {
			t.Errorf("%q is both %+v and %+v", title, p, other)
		}
		seen[title] = p
		if runs := c.At(p, Entry{Weft, "google"}); len(runs) != 3 {
			t.Errorf("%s: weft has %d rounds, want 3", title, len(runs))
		}
	}
	if n := len(c.Callers()); n != 6 {
		t.Errorf("%d numbers of callers, want 6", n)
	}
}
