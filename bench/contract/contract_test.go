package contract

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// What other languages write must not change its names by a slip here.
func TestTheNamesOnTheLine(t *testing.T) {
	tests := []struct {
		name string
		line string
		want any
	}{
		{
			name: "description",
			line: `{"peer":"pigeon","language":"Go","version":"1","settings":"none","codecs":["raw"],"workloads":["echo","math-new"],` +
				`"max_callers":300,"max_callers_why":"it says so","warmup_s":8,"usage":true}`,
			want: &Description{
				Peer: "pigeon", Language: "Go", Version: "1", Settings: "none", Codecs: []string{"raw"}, Workloads: []Workload{Echo, MathNew},
				MaxCallers: 300, MaxCallersWhy: "it says so", Warmup: 8, Usage: true,
			},
		},
		{name: "ready", line: `{"event":"ready","addr":"127.0.0.1:4711"}`, want: &Event{Event: Ready, Addr: "127.0.0.1:4711"}},
		{name: "usage", line: `{"event":"usage","allocs":12345}`, want: &Event{Event: Usage, Allocs: 12345}},
		{name: "failed", line: `{"event":"failed","error":"no such port"}`, want: &Event{Event: Failed, Error: "no such port"}},
		{
			name: "result",
			line: `{"event":"result","conns":2,"seconds":3.5,"calls":3,"late":1,"failures":4,"first_error":"lost","warmup_s":2,"allocs":7,"cpu_ns":9,` +
				`"main":{"count":3,"sum_ns":60,"min_ns":10,"max_ns":30,"histogram_ns":[[10,1],[20,1],[30,1]]},` +
				`"side":{"count":0,"sum_ns":0,"min_ns":0,"max_ns":0,"histogram_ns":null}}`,
			want: &Event{Event: Result, Allocs: 7, Measured: &Measured{
				Conns: 2, Seconds: 3.5, Calls: 3, Late: 1, Failures: 4, FirstError: "lost", Warmup: 2, CPU: 9,
				Main: Distribution{Count: 3, Sum: 60, Min: 10, Max: 30, Histogram: [][2]int64{{10, 1}, {20, 1}, {30, 1}}},
			}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := reflect.New(reflect.TypeOf(test.want).Elem()).Interface()
			if err := json.Unmarshal([]byte(test.line), got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("read as %+v, want %+v", got, test.want)
			}
			written, err := json.Marshal(test.want)
			if err != nil {
				t.Fatal(err)
			}
			// The order of the fields of an event is not part of the contract.
			var one, other map[string]any
			if json.Unmarshal(written, &one) != nil || json.Unmarshal([]byte(test.line), &other) != nil || !reflect.DeepEqual(one, other) {
				t.Errorf("written as\n%s\nwant\n%s", written, test.line)
			}
		})
	}
}

func TestParseWorkload(t *testing.T) {
	for _, w := range Workloads() {
		if got, err := ParseWorkload(string(w)); got != w || err != nil {
			t.Errorf("%q: %q, %v", w, got, err)
		}
	}
	for _, name := range []string{"", "weave", "Echo"} {
		if _, err := ParseWorkload(name); err == nil || !strings.Contains(err.Error(), `"math-new"`) {
			t.Errorf("%q: error %v, want one that lists the workloads", name, err)
		}
	}
}

func TestSupports(t *testing.T) {
	d := Description{Codecs: []string{"gob", "raw"}, Workloads: []Workload{Echo, Slow, Math}}
	plain := Description{Codecs: []string{"raw"}, Workloads: []Workload{Math}}
	if !plain.Supports(Math, "raw") {
		t.Error("a peer with nothing but raw, which has sums, is said to have none")
	}
	tests := []struct {
		name     string
		workload Workload
		codec    string
		want     bool
	}{
		{"both", Slow, "raw", true},
		{"sums", Math, "gob", true},
		{"sums of bytes", Math, "raw", false},
		{"another workload", Large, "raw", false},
		{"another codec", Echo, "json", false},
	}
	for _, test := range tests {
		if got := d.Supports(test.workload, test.codec); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
