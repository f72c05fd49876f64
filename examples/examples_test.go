package examples_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// patience is how long one example may take, on a slow machine.
const patience = 90 * time.Second

func TestExamples(t *testing.T) {
	bin := t.TempDir()
	build(t, bin)
	tests := []struct {
		name     string
		want     []string // each matches a line of the output
		measures bool     // it tells times, which a busy machine spoils: then it is run again
	}{
		{name: "async", measures: true, want: []string{`10 calls under way`, ` 1² =   1`, ` 9² =  81`, `10² = 100`, `all together .*: \d+ms`}},
		{name: "streams", want: []string{`from the server: 1 2 3 4 5`, `from the client: the sum of 1000 numbers is 500500`,
			`both ways: warp, WARP`, `both ways: cloth, CLOTH`}},
		{name: "push", want: []string{`ann is asked: delete ann.txt\?`, `   ann.txt is deleted`, `   Files.Delete at .*: Aborted \(Executed\): .*`,
			`the server tells all 3 clients`, `   ann got: .*`, `   bob got: .*`, `   cid got: .*`}},
		{name: "metadata", measures: true, want: []string{`metadata: trace 4711/front arrived at the back`, `deadline: the front was called with 3s, the back has (3|2.\d)s left`,
			`default: a call without a deadline has 10s, the back has (10|9.\d)s left`, `reply metadata: \{cache="miss"\}`,
			`timeout: DeadlineExceeded after .*; the back's context ended: context deadline exceeded`,
			`cancel: Canceled; the back's context ended: context canceled`}},
		{name: "auth", want: []string{`the right token +you are the night job, .*`, `a wrong token .*Unauthenticated \(Refused\).*`, `user and password +you are ada, .*`,
			`a wrong password .*Unauthenticated \(Refused\).*`, `a fresh bearer token +you are grace, .*`, `an expired one .*Unauthenticated \(Refused\).*`,
			`a signed call +you are shop, .*`, `a forged signature .*Unauthenticated \(Refused\).*`, `nothing at all .*Unauthenticated \(Refused\).*`}},
		{name: "tls", want: []string{`connected: .* certificate 2 and knows the client as billing.example.org`, `connected: .* certificate 4 .*`,
			`the old connection still works`, `a client without a certificate is refused: .*`}},
		{name: "admin", measures: true, want: []string{`without the token: Unauthenticated`, `method Shop.Buy\(main.Order\) main.Receipt Buy orders an item.`, `open: Shop.Pack of shop/2.1, (10|9) s left`,
			`tap: Shop.Buy from shop/2.1: OK \{"card":\{"number":"\*\*\*"\},"count":3,"item":"tea"\} -> \{"cents":750\}`, `tap: Shop.Buy from shop/2.1: InvalidArgument .* -> count is 0, want 1 or more`,
			`level=WARN msg="admin: the log level was set" .*client=ops`, `the log level is DEBUG and then INFO`, `the server has shut down: shut down`}},
		{name: "codecs", want: []string{`xml +304 +320`, `json +206 +222`, `gob +233 +249`, `msgpack +162 +178`, `gencode +102 +118`, `protobuf +101 +117`, `raw +206 +222`,
			`not compressed +27471`, `snappy +\d{4}`, `lz4 +\d{4}`, `zstd +\d{3,4}`, `gzip +\d{4}`}},
		// A list that comes during the calls begins the rotation anew, which moves a call.
		{name: "cluster", want: []string{`thirty calls: map\[ann:(9|10|11) bob:(9|10|11) cid:(9|10|11)\]`, `without bob: map\[ann:\d+ cid:\d+\]`,
			`all at once: ann has 5`, `all at once: cid has 5`, `one server is left by the rule`, `without ann: map\[cid:30\]`}},
		{name: "interceptors", want: []string{`a client has connected over tcp`, `journal: Words.Echo trace-7, OK`,
			`journal: Words.Echo trace-7, InvalidArgument`, `journal: Words.Count sent 3 messages, OK`}},
		{name: "hedging", measures: true, want: []string{`without hedges the slowest of 60 calls took .*`, `with hedges it took \d+ms`,
			`the slow calls were cancelled when another server had answered`}},
		{name: "generate", want: []string{`in this process: Weaving, by 2 authors`, `in this process: 2 books on shelf 1`,
			`over the network: Weaving, by 2 authors`, `over the network: 2 books on shelf 1`, `over the network: Warp and weft`}},
		{name: "rpcx", want: []string{`by rpcx: 2 from the old server`, `a message of the server: News.Divided \{17 8\} <nil>`, `an error keeps its code: true`, `both answer: true`}},
		{name: "before", want: []string{`Arith: 17\*8=136`, `Arith: 17/8=2 remainder 1`, `Arith: divide by zero`}},
		{name: "after", want: []string{`Arith: 17\*8=136`, `Arith: 17/8=2 remainder 1`, `Arith: .*divide by zero`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shows := func() error {
				out, err := run(t, filepath.Join(bin, tt.name))
				for _, want := range tt.want {
					if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
						err = errors.Join(err, fmt.Errorf("no line matches %s", want))
					}
				}
				if err != nil {
					return fmt.Errorf("%w\nthe output:\n%s", err, out)
				}
				return nil
			}
			if tt.measures {
				polltest.Until(t, patience, "it shows what it is to show", shows)
			} else if err := shows(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("hello", func(t *testing.T) { hello(t, bin) })
}

// build builds every program into a folder.
func build(t *testing.T, bin string) {
	t.Helper()
	out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// output is what run returns of a program, which must succeed.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := run(t, program, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// run runs a program. That it fails, or writes to standard error, is an error.
func run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, patience
	err := cmd.Run()
	if err == nil && stderr.Len() > 0 {
		err = errors.New("it writes to standard error")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, stderr.String())
	}
	return stdout.String(), err
}

// hello runs the server and the client over a socket in a folder, since another
// program may take a free port before the server has it.
func hello(t *testing.T, bin string) {
	folder, err := os.MkdirTemp("", "weft") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "hello.sock")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := exec.CommandContext(ctx, filepath.Join(bin, "server"), "-address", "unix://"+socket)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	if line, err := log.ReadString('\n'); line != "serving on unix://"+socket+"\n" {
		t.Fatalf("the server began with %q, %v", line, err)
	}
	if got := output(t, filepath.Join(bin, "client"), "-address", "unix://"+socket, "-name", "Ada"); got != "Hello, Ada!\n" {
		t.Errorf("the client printed %q", got)
	}
	refused := exec.CommandContext(ctx, filepath.Join(bin, "client"), "-address", "unix://"+socket, "-name", "")
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "InvalidArgument") {
		t.Errorf("a client without a name ended with %v and printed %q", err, out)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	last, err := io.ReadAll(log) // before Wait, which closes the pipe
	if err := errors.Join(err, server.Wait()); err != nil || string(last) != "all calls have ended\n" {
		t.Errorf("the server ended with %v and logged %q", err, last)
	}
}

// TestReadmeListsEveryExample looks for a link to every folder.
func TestReadmeListsEveryExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "internal" && !strings.Contains(string(readme), "]("+e.Name()+")") {
			t.Errorf("README.md does not link to %s", e.Name())
		}
	}
}

// TestMigrationShowsItsDiff holds the diff in the README to the two programs: what
// it removes and adds is what they do not share.
func TestMigrationShowsItsDiff(t *testing.T) {
	const folder = "migrate-from-net-rpc/"
	before, after := lines(t, folder+"before/main.go"), lines(t, folder+"after/main.go")
	var shown, removed, added []string
	inside := false
	for _, l := range lines(t, folder+"README.md") {
		switch {
		case strings.HasPrefix(l, "```"):
			inside = l == "```diff"
		case !inside || strings.HasPrefix(l, "---") || strings.HasPrefix(l, "+++") || strings.HasPrefix(l, "@@"):
		case strings.HasPrefix(l, "-"):
			removed = append(removed, l[1:])
		case strings.HasPrefix(l, "+"):
			added = append(added, l[1:])
		default:
			shown = append(shown, l[1:])
		}
	}
	if len(removed) == 0 || len(added) == 0 {
		t.Fatal("README.md shows no diff")
	}
	if got, want := without(t, before, removed), without(t, after, added); !slices.Equal(got, want) {
		t.Errorf("without the lines of the diff the two programs differ:\n%s\n\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	without(t, before, shown)
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

// without returns the lines of a program but for some, which must stand there in
// this order.
func without(t *testing.T, program, some []string) []string {
	t.Helper()
	var rest []string
	for _, l := range program {
		if len(some) > 0 && l == some[0] {
			some = some[1:]
			continue
		}
		rest = append(rest, l)
	}
	if len(some) > 0 {
		t.Errorf("the program has no line %q where README.md shows it", some[0])
	}
	return rest
}
