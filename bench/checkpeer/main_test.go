package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/tcppeer"
	"github.com/weftrpc/weft/internal/leak"
)

// The test binary is the good program, when it is started with a command of the
// contract.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		harness.Main(tcppeer.Peer{})
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	leak.Main(m)
}

func TestProgramsThatKeepTheContract(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{self, "../peers/example-python/courier.py"} {
		var out strings.Builder
		if err := run(t.Context(), []string{program}, &out, io.Discard); err != nil {
			t.Errorf("%s: %v\n%s", program, err, out.String())
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	const describe = `[ "$1" = describe ] && exec echo '{"peer":"warp","codecs":["raw"],"workloads":["echo"]}'
command=$1; shift 3
`
	// Flags come in the order of the contract's text, -peer first.
	const honest = `exec "$self" $command -peer tcp "$@"`
	tests := []struct {
		name, script, want string
	}{
		{"nothing described", "", "describe printed no peer"},
		{"chatter", "echo Welcome", "describe printed"},
		{"a server that stays", describe + `# Only the first time: each of the calls' servers would have to be ended by force.
[ $command = serve ] && ! [ -e "$0.once" ] && touch "$0.once" && echo '{"event":"ready","addr":"127.0.0.1:1"}' && exec sleep 30
` + honest, "had not ended 5s after its input did"},
		{"a server that ends badly", describe + `[ $command = serve ] && { "$self" serve -peer tcp "$@"; exit 3; }
` + honest, "its exit code is 3, want 0"},
		{"a silent failure", describe + "exit 1", `it printed no event "ready"`},
		{"a load that lies", describe + `[ $command = serve ] && exec "$self" serve -peer tcp "$@"
echo '{"event":"warm"}'; read go
echo '{"event":"result","conns":1,"seconds":1,"calls":3,"main":{"count":1,"sum_ns":5,"min_ns":5,"max_ns":5,"histogram_ns":[[5,1]]},"side":{}}'
cat`, "calls is 3, main.count 1"},
		{"a load that makes too few calls", describe + `[ $command = serve ] && exec "$self" serve -peer tcp "$@"
echo '{"event":"warm"}'; read go
echo '{"event":"result","conns":1,"seconds":1,"calls":1,"main":{"count":1,"sum_ns":5,"min_ns":5,"max_ns":5,"histogram_ns":[[5,1]]},"side":{}}'
cat`, "it made 1 main calls, -calls asked for 400"},
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "warp")
			if err := os.WriteFile(program, []byte("#!/bin/sh\nself='"+self+"'\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := run(t.Context(), []string{program}, &out, io.Discard)
			if err == nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("error %v, want one, and %q in\n%s", err, test.want, out.String())
			}
		})
	}
}
