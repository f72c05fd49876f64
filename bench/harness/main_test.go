package harness

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/contract"
)

func TestDescribe(t *testing.T) {
	var out strings.Builder
	err := Run(t.Context(), []string{"describe"}, Peers{newScript()}, strings.NewReader(""), &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got contract.Description
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := contract.Description{
		Peer: "script", Language: "Go", Version: "script 1", Usage: true,
		MaxCallers: 300, MaxCallersWhy: "it says so",
		Codecs: []string{"vtproto", "raw"}, Workloads: contract.Workloads(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBadArguments(t *testing.T) {
	tests := []struct {
		name string
		args string
		want string
	}{
		{"no command", "", "want describe, serve or load"},
		{"unknown command", "weave", `unknown command "weave"`},
		{"unknown peer", "serve -peer spindle -codec raw", `unknown peer "spindle"; there are ["script"]`},
		{"no peer", "load -codec raw", `unknown peer ""`},
		{"unknown codec", "load -peer script -codec morse", `unknown codec "morse"`},
		{"unknown workload", "load -peer script -codec raw -workload weave", `unknown workload "weave"`},
		{"unsupported codec", "serve -peer script -codec gob", "does not carry gob"},
		{"unsupported method", "load -peer script -codec raw -workload math", "does not carry raw"},
		{"unknown flag", "load -spin", "flag provided but not defined"},
		{"an argument too many", "load -peer script more", `unexpected argument "more"`},
		{"no callers", "load -peer script -codec raw -callers 0", "must be positive"},
		{"no time", "load -peer script -codec raw -seconds 0", "must be positive"},
		{"not a number", "load -peer script -codec raw -seconds NaN", "must be positive"},
		{"endless", "load -peer script -codec raw -seconds +Inf", "must be positive"},
		{"negative warm-up", "load -peer script -codec raw -warmup -1", "not negative"},
		{"negative rate", "load -peer script -codec raw -rate -1", "not negative"},
		{"connections", "load -peer script -codec raw -conns -2", "at least -1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := Run(t.Context(), strings.Fields(test.args), Peers{newScript()}, strings.NewReader(""), &out, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			if test.args == "" {
				return // started by hand, at a terminal
			}
			var e contract.Event
			if json.Unmarshal([]byte(out.String()), &e) != nil || e.Event != contract.Failed || e.Error != err.Error() {
				t.Errorf("the parent was told %q", out.String())
			}
		})
	}
}
