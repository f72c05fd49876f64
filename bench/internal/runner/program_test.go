package runner

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

// script is a program made of what a shell does.
func script(t *testing.T, body string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peer")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{file}
}

func TestDescribe(t *testing.T) {
	peers, err := Describe(t.Context(), program(t, asGood), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(peers) != 1 || peers[0].Peer != "tcp" || !peers[0].Supports(contract.Echo, "raw") || peers[0].Supports(contract.Echo, "vtproto") {
		t.Errorf("%+v", peers)
	}
}

func TestBadDescriptions(t *testing.T) {
	const good = `{"peer":"warp","codecs":["raw"],"workloads":["echo"]}`
	tests := []struct {
		name, body, want string
	}{
		{"ends at once", "exit 4", "exit status 4"},
		{"nothing", "", "no peer"},
		{"no JSON", "echo warp", `"warp"`},
		{"half a line", `echo '` + good[:20] + `'`, "printed"},
		{"no name", `echo '{"codecs":["raw"],"workloads":["echo"]}'`, "must not be empty"},
		{"no codecs", `echo '{"peer":"warp","workloads":["echo"]}'`, "must not be empty"},
		{"no workloads", `echo '{"peer":"warp","codecs":["raw"]}'`, "must not be empty"},
		{"the second is bad", `echo '` + good + `'; echo '{}'`, "must not be empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peers, err := Describe(t.Context(), script(t, test.body), io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "describe") {
				t.Errorf("%v, error %v, want one with %q", peers, err, test.want)
			}
		})
	}
	if _, err := Describe(t.Context(), []string{"/no/such/program"}, io.Discard); err == nil {
		t.Error("a program that is not there described itself")
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	begin := time.Now()
	if _, err := Describe(ctx, script(t, "exec sleep 3600"), io.Discard); err == nil || time.Since(begin) > patient {
		t.Errorf("a program that hangs: %v after %v", err, time.Since(begin))
	}
}

func TestFind(t *testing.T) {
	peers := []Peer{{Description: contract.Description{Peer: "warp"}}, {Description: contract.Description{Peer: "woof"}}}
	tests := []struct {
		label string
		conns int
		want  string // of the error
	}{
		{label: "warp"},
		{label: "woof:4", conns: 4},
		{label: "woof:each", conns: PerCaller},
		{label: "woof:0", want: "number of connections"},
		{label: "woof:", want: "number of connections"},
		{label: "woof:many", want: "number of connections"},
		{label: "loom", want: `"warp" "woof"`},
		{label: "", want: "unknown peer"},
	}
	for _, test := range tests {
		e, err := Find(peers, test.label)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: error %v, want one with %q", test.label, err, test.want)
			}
			continue
		}
		name, _, _ := strings.Cut(test.label, ":")
		if err != nil || e.Conns != test.conns || e.Peer.Peer != name || e.Label != test.label {
			t.Errorf("%q: %+v, %v", test.label, e, err)
		}
	}
}
