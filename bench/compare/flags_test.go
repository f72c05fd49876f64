package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
)

// peers are some on paper: two of Go, one of Java, one without protobuf.
func peers() []runner.Peer {
	peer := func(name string, warmup float64, codecs ...string) runner.Peer {
		return runner.Peer{Description: contract.Description{Peer: name, Codecs: codecs, Workloads: contract.Workloads(), Warmup: warmup}}
	}
	return []runner.Peer{
		peer("weft", 0, "vtproto", "google", "raw"), peer("grpc-go", 0, "vtproto", "google"),
		peer("dubbo", 8, "google"), peer("net-rpc", 0, "gob", "json"),
	}
}

func TestBadFlags(t *testing.T) {
	tests := []struct{ flag, want string }{
		{"-plan=grand", `unknown plan "grand"`},
		{"-callers=0", `"0" is not a positive number`},
		{"-callers=many", `"many" is not a positive number`},
		{"-workloads=weave", `unknown workload "weave"`},
		{"-rounds=-1", "not be negative"},
		{"-seconds=-1", "not be negative"},
		{"-seconds=NaN", "not be negative"},
		{"-seconds=1e9", "at most an hour"},
		{"-calls=-5", "not be negative"},
		{"-warmup=-1s", "not be negative"},
		{"more", `unexpected argument "more"`},
		{"-spin", "flag provided but not defined"},
	}
	for _, test := range tests {
		if _, err := parse([]string{test.flag}, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.flag, err, test.want)
		}
	}
}

func TestPeersAndCodecsThatAreNotThere(t *testing.T) {
	tests := []struct{ flag, want string }{
		{"-peers=spindle", `unknown peer "spindle"`},
		{"-peers=weft:0", "number of connections"},
		{"-codecs=morse", `no peer has a codec "morse"`},
	}
	for _, test := range tests {
		s, err := parse([]string{test.flag}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.plan(peers()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.flag, err, test.want)
		}
	}
}

func TestEntries(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"quick", nil, []string{"weft vtproto", "grpc-go vtproto", "dubbo google", "net-rpc gob"}},
		{
			"full", []string{"-plan=full"},
			[]string{"weft vtproto", "weft google", "grpc-go vtproto", "grpc-go google", "dubbo google", "net-rpc gob", "net-rpc json"},
		},
		{"core", []string{"-plan=core"}, []string{"weft vtproto", "weft google", "weft raw", "grpc-go vtproto", "grpc-go google"}},
		{"codecs that were asked for", []string{"-codecs=raw,json"}, []string{"weft raw", "net-rpc json"}},
		{"peers that were asked for", []string{"-peers= dubbo, weft:each"}, []string{"dubbo google", "weft:each vtproto"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := parse(test.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.plan(peers())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range plan.Entries {
				got = append(got, e.Label+" "+e.Codec)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestPoints(t *testing.T) {
	echo := func(callers ...int) (all []runner.Point) {
		for _, n := range callers {
			all = append(all, runner.Point{Workload: contract.Echo, Callers: n})
		}
		return all
	}
	tests := []struct {
		name string
		args []string
		want []runner.Point
	}{
		{"core", []string{"-plan=core"}, echo(1, 100, 1000, 5000)},
		{"callers", []string{"-callers=7,8"}, echo(7, 8)},
		{"calls", []string{"-calls=9", "-callers=7"}, []runner.Point{{Workload: contract.Echo, Callers: 7, Calls: 9}}},
		{
			"workloads", []string{"-workloads=delay,math"},
			[]runner.Point{
				{Workload: contract.Delay, Callers: 1000}, {Workload: contract.Delay, Callers: 5000},
				{Workload: contract.Math, Callers: 1},
			},
		},
		{
			"workloads of the plan full", []string{"-plan=full", "-workloads=delay,math-new"},
			[]runner.Point{
				{Workload: contract.Delay, Callers: 100, Best: true},
				{Workload: contract.MathNew, Callers: 1, Calls: 10_000, Best: true, Swift: true},
				{Workload: contract.MathNew, Callers: 1, Calls: 50_000, Best: true, Swift: true},
			},
		},
		{"both", []string{"-workloads=slow,echo", "-callers=3"}, []runner.Point{{Workload: contract.Slow, Callers: 3}, {Workload: contract.Echo, Callers: 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := parse(test.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.points(); !slices.Equal(got, test.want) {
				t.Errorf("%+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestWhatThePlansHave(t *testing.T) {
	has := func(plan string, want runner.Point) bool {
		s, err := parse([]string{"-plan=" + plan}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(s.points(), want)
	}
	tests := []struct {
		name string
		want runner.Point
		in   []string
	}{
		{"one caller", runner.Point{Workload: contract.Echo, Callers: 1}, []string{"quick", "full"}},
		{"many callers", runner.Point{Workload: contract.Echo, Callers: 5000}, []string{"full"}},
		{"two servers, few callers", runner.Point{Workload: contract.Echo, Callers: 100, Servers: 2, Best: true}, []string{"full"}},
		{"two servers", runner.Point{Workload: contract.Echo, Callers: 1000, Servers: 2, Best: true}, []string{"full"}},
		{"two servers, many callers", runner.Point{Workload: contract.Echo, Callers: 5000, Servers: 2, Best: true}, []string{"full"}},
		{"two machines", runner.Point{Workload: contract.Echo, Callers: 1000, Network: runner.Namespaces, Best: true}, []string{"full"}},
		{"half the greatest rate", runner.Point{Workload: contract.Echo, Callers: 100, Share: 0.5, Best: true}, []string{"full"}},
		{"the same without the slow to warm up", runner.Point{Workload: contract.Echo, Callers: 100, Share: 0.5, Best: true, Swift: true}, []string{"quick"}},
		{"near the greatest rate", runner.Point{Workload: contract.Echo, Callers: 100, Share: 0.8, Best: true}, []string{"full"}},
		{"a long connection", runner.Point{Workload: contract.Math, Callers: 1, Calls: 50_000, Best: true, Swift: true}, []string{"full"}},
		{"a connection per call", runner.Point{Workload: contract.MathNew, Callers: 1, Calls: 10_000, Best: true, Swift: true}, []string{"full"}},
		{"four clients", runner.Point{Workload: contract.Math, Callers: 1, Clients: 4, Calls: 100_000, Best: true, Swift: true}, []string{"full"}},
	}
	for _, test := range tests {
		for _, plan := range []string{"quick", "full"} {
			if got := has(plan, test.want); got != slices.Contains(test.in, plan) {
				t.Errorf("%s in the plan %s: %v", test.name, plan, got)
			}
		}
	}
}

// TestAnOpenLoopFollowsItsClosedOne: its rate is known only then.
func TestAnOpenLoopFollowsItsClosedOne(t *testing.T) {
	for _, s := range []scope{quick, full} {
		points := s.points()
		for i, p := range points {
			closed := runner.Point{Workload: p.Workload, Callers: p.Callers}
			if at := slices.Index(points, closed); p.Share > 0 && (at < 0 || at > i) {
				t.Errorf("%s: %+v is number %d, its closed loop number %d", s, p, i, at)
			}
		}
	}
}

// TestThePlansFitTheirTime counts with all peers of the comparison: nine of Go,
// five of Java, three of C++.
func TestThePlansFitTheirTime(t *testing.T) {
	all := contract.Workloads()
	var every []runner.Peer
	add := func(n int, d contract.Description) {
		for range n {
			d.Peer = string(rune('a' + len(every)))
			every = append(every, runner.Peer{Description: d})
		}
	}
	add(1, contract.Description{Codecs: []string{"raw"}, Workloads: all})
	add(1, contract.Description{Codecs: []string{"vtproto", "google"}, Workloads: all[:1]})
	add(5, contract.Description{Codecs: []string{"vtproto", "google"}, Workloads: all})
	add(1, contract.Description{Codecs: []string{"compact", "binary"}, Workloads: all})
	add(1, contract.Description{Codecs: []string{"gob", "json"}, Workloads: all})
	add(4, contract.Description{Codecs: []string{"google"}, Workloads: all, Warmup: 8})
	add(1, contract.Description{Codecs: []string{"compact", "binary"}, Workloads: all, Warmup: 8})
	add(3, contract.Description{Codecs: []string{"compact", "binary"}, Workloads: all})
	for plan, most := range map[string]time.Duration{"quick": 10 * time.Minute, "full": 3 * time.Hour} {
		s, err := parse([]string{"-plan=" + plan}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.plan(every)
		if err != nil {
			t.Fatal(err)
		}
		runs, takes := p.Size()
		t.Logf("%s: %d runs, %v", plan, runs, takes)
		if takes > most {
			t.Errorf("%s: %d runs take %v, want at most %v", plan, runs, takes, most)
		}
	}
}
