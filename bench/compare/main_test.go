package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/gopeers"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/internal/leak"
)

// The test binary is the program that it tests, when it is started as a child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asPeer {
		main()
	}
	// A child under the race detector sleeps a second before it ends, without this.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	leak.Main(m)
}

// output gathers what this program and its children say; several may at once.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// compare runs the whole program with its processes.
func compare(t *testing.T, args ...string) (records []runner.Record, stdout, stderr string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "records.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out, diagnostics output
	err = run(ctx, append(args, "-rounds=1", "-warmup=20ms", "-commit=abc", "-out="+file), &out, &diagnostics)
	written, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatalf("%v, %v\n%s", err, readErr, diagnostics.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(written))
	for lines.Scan() {
		var r runner.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records, out.String(), diagnostics.String(), err
}

// TestEveryPeerWithEveryCodec and the one below are the smoke of the Go peers: a
// few hundred calls each through real processes, with every reply checked.
func TestEveryPeerWithEveryCodec(t *testing.T) {
	var codecs []string
	want := make(map[string]bool)
	for _, codec := range msg.Codecs() {
		codecs = append(codecs, string(codec))
		for _, p := range gopeers.All() {
			if p.Supports(codec, msg.Say) == nil {
				want[p.Name()+" "+string(codec)] = true
			}
		}
	}
	records, stdout, stderr, err := compare(t, "-workloads=echo", "-callers=4", "-calls=300", "-codecs="+strings.Join(codecs, ","))
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if !strings.Contains(stdout, "Echo, 4 callers\n") {
		t.Errorf("no table:\n%s", stdout)
	}
	for _, r := range records {
		delete(want, r.Peer+" "+r.Codec)
		if r.Calls != 300 || r.Failures != 0 || r.Commit != "abc" || r.Version == "" || r.Settings == "" {
			t.Errorf("%s: %d calls, %d failures (%s), commit %s, version %q", r.Title(), r.Calls, r.Failures, r.FirstError, r.Commit, r.Version)
		}
		for name, value := range map[string]float64{
			"connections": float64(r.Conns), "p50": r.P50, "max": r.Max, "calls/s": r.CallsPerSec, "client CPU": r.ClientCPU, "server CPU": r.ServerCPU,
			"writes": r.WritesPerCall, "bytes": r.BytesPerCall, "client RSS": r.ClientRSS, "server RSS": r.ServerRSS,
		} {
			if value <= 0 {
				t.Errorf("%s: %s is %v", r.Title(), name, value)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no record of %v", want)
	}
}

func TestEveryPeerInEveryWorkload(t *testing.T) {
	var works []string
	want := make(map[string]bool)
	for _, w := range contract.Workloads() {
		if w == contract.Echo {
			continue
		}
		works = append(works, string(w))
		for _, p := range []string{"weft", "grpc-go", "thrift-go", "net-rpc"} { // those can all
			want[p+" "+string(w)] = true
		}
	}
	records, _, stderr, err := compare(t, "-callers=4", "-calls=200", "-workloads="+strings.Join(works, ","))
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	for _, r := range records {
		delete(want, r.Peer+" "+string(r.Workload))
		if r.Calls != 200 || r.Failures != 0 {
			t.Errorf("%s: %d calls, %d failures (%s)", r.Title(), r.Calls, r.Failures, r.FirstError)
		}
	}
	if len(want) > 0 {
		t.Errorf("no record of %v", want)
	}
}

func TestSideCallsBesideThePlainWorkload(t *testing.T) {
	records, stdout, stderr, err := compare(t, "-callers=3", "-seconds=0.2", "-codecs=raw", "-peers=tcp", "-workloads=echo,mixed")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if len(records) != 2 || records[0].Workload != contract.Echo || records[1].SideCalls == 0 || !strings.Contains(stdout, "  side calls calls/s  ") {
		t.Errorf("%+v\n%s", records, stdout)
	}
	for _, want := range []string{"2 runs, about ", "1/2 (1s left) echo tcp raw, 3 callers: ", "s left) mixed tcp raw, 3 callers: ", " calls/s, p99 "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in the progress:\n%s", want, stderr)
		}
	}
}

// other writes a program that wraps this one, with its peers renamed.
func other(t *testing.T, body string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pigeon")
	script := "#!/bin/sh\nself='" + self + "'\n" + body
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAProgramFromOutside(t *testing.T) {
	pigeon := other(t, `[ "$1" = describe ] && exec echo '{"peer":"pigeon","codecs":["raw"],"workloads":["echo"],"max_callers":3,"max_callers_why":"it has three connections"}'
command=$1
shift 3
exec "$self" peer "$command" -peer tcp "$@"`)
	records, _, stderr, err := compare(t, "-with="+pigeon, "-peers=tcp,pigeon", "-callers=3,4", "-calls=100", "-workloads=echo")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var got []string
	for _, r := range records {
		got = append(got, r.Title())
		if r.Peer == "pigeon" && r.Callers == 4 {
			if r.Skipped != "at most 3 callers: it has three connections" {
				t.Errorf("%s was not left out: %+v", r.Title(), r)
			}
		} else if r.Calls != 100 || r.Failures > 0 {
			t.Errorf("%s: %d calls, %d failures (%s)", r.Title(), r.Calls, r.Failures, r.FirstError)
		}
	}
	want := []string{
		"echo tcp raw, 3 callers, 100 calls", "echo pigeon raw, 3 callers, 100 calls",
		"echo tcp raw, 4 callers, 100 calls", "echo pigeon raw, 4 callers, 100 calls",
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs %q, want %q", got, want)
	}
}

func TestARunThatFailsIsTold(t *testing.T) {
	broken := other(t, `[ "$1" = describe ] && exec echo '{"peer":"broken","codecs":["raw"],"workloads":["echo"]}'
echo '{"event":"failed","error":"the link is down"}'`)
	records, stdout, stderr, err := compare(t, "-with="+broken, "-peers=broken,tcp", "-callers=2", "-calls=100")
	if err == nil || !strings.Contains(err.Error(), "1 of 2 runs had failed calls") {
		t.Errorf("error %v", err)
	}
	if len(records) != 2 || records[0].Calls != 0 || records[1].Calls != 100 {
		t.Errorf("records %+v; want the other peer measured", records)
	}
	for name, text := range map[string]string{"table": stdout, "progress": stderr} {
		if !strings.Contains(text, "the link is down") {
			t.Errorf("the %s does not say why:\n%s", name, text)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	tests := []struct{ name, with, want string }{
		{"not there", "/no/such/program", "no such file"},
		{"dies", other(t, "exit 3"), "exit status 3"},
		{"a name twice", other(t, `exec echo '{"peer":"tcp","codecs":["raw"],"workloads":["echo"]}'`), `have a peer "tcp"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, diagnostics output
			err := run(t.Context(), []string{"-list", "-with=" + test.with}, &out, &diagnostics)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestEveryDoor is the same for the plan doors.
func TestEveryDoor(t *testing.T) {
	records, _, stderr, err := compare(t, "-plan=doors", "-workloads=echo", "-callers=4", "-calls=300", "-rounds=1")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := make(map[string]bool)
	for _, p := range gopeers.Doors() {
		want[p.Name()], want[p.Describe().Client] = true, true
	}
	for _, r := range records {
		if !want[r.Peer] && r.Calls > 0 {
			t.Errorf("%s is in the plan", r.Peer)
		}
	}
	for name := range want {
		if !slices.ContainsFunc(records, func(r runner.Record) bool { return r.Peer == name && r.Calls > 0 }) {
			t.Errorf("%s is not in the plan", name)
		}
	}
}

func TestList(t *testing.T) {
	var out, diagnostics output
	if err := run(t.Context(), []string{"-list"}, &out, &diagnostics); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(out.String()))
	for _, p := range append(gopeers.All(), gopeers.Doors()...) {
		var d contract.Description
		if err := decoder.Decode(&d); err != nil || d.Peer != p.Name() || !d.Usage || d.Version == "" {
			t.Errorf("%s is listed as %+v, %v", p.Name(), d, err)
		}
	}
	for _, folder := range []string{"peers/java", "peers/cpp"} { // not built where the test runs
		if !strings.Contains(diagnostics.String(), "without the peers of "+folder) {
			t.Errorf("no word of %s in %q", folder, diagnostics.String())
		}
	}
}
