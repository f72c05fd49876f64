package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// Arith is the service of the tests.
type Arith struct{}

// Args are what Arith multiplies.
type Args struct{ A, B int }

// Mul multiplies.
func (Arith) Mul(_ context.Context, args *Args) (*int, error) {
	product := args.A * args.B
	return &product, nil
}

// upAt runs a registry at an address, with its data in a folder.
func upAt(t *testing.T, listen, data string) *process {
	t.Helper()
	p := start(t, "up", "-listen", listen, "-data", data)
	p.says(t, "The registry is up")
	return p
}

// serve runs a server that registers itself, and returns its address.
func serve(t *testing.T, endpoints ...string) string {
	t.Helper()
	reg, err := etcd.New(etcd.Config{Endpoints: endpoints, Registry: registry.Config{NoCache: true, TTL: patience}}) // a busy machine may refresh it late
	if err != nil {
		t.Fatal(err)
	}
	srv := weft.NewServer(&weft.ServerConfig{
		Registry: reg,
		Instance: weft.Instance{ID: "calculator", Zone: "here", Tags: map[string]string{"owner": "tests"}},
	})
	if err := srv.Register(Arith{}); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		reg.Close() // what cannot be withdrawn expires
	})
	return "tcp://" + l.Addr().String()
}

// listed waits until the table has a line with all these words, and returns its
// fields.
func listed(t *testing.T, registry string, words ...string) (fields []string) {
	t.Helper()
	polltest.Until(t, patience, "a line of the table has "+strings.Join(words, ", "), func() error {
		code, out, log := run(t, "", "instances", "-registry", registry)
		if code != 0 {
			return fmt.Errorf("the exit code is %d: %s", code, log)
		}
	lines:
		for line := range strings.Lines(out) {
			fields = strings.Fields(line)
			for _, w := range words {
				if !strings.Contains(line, w) {
					continue lines
				}
			}
			return nil
		}
		return fmt.Errorf("no line has %q:\n%s", words, out)
	})
	return fields
}

// TestUp runs a registry, a server and a client, lists the instances, and stops and
// restarts the registry.
func TestUp(t *testing.T) {
	listen, data := localPort(t), filepath.Join(t.TempDir(), "data")
	up := upAt(t, listen, data)
	up.says(t, fmt.Sprintf("etcd.Config{Endpoints: []string{%q}}", listen))
	if first, _, _ := strings.Cut(up.text(), "\n"); !strings.Contains(first, listen) || !strings.Contains(first, "Ctrl-C stops it") {
		t.Errorf("the first line is %q, want the address and how to stop", first)
	}
	if text := up.text(); strings.Contains(text, "no password") {
		t.Errorf("a registry for this machine alone warns of others:\n%s", text)
	}
	if code, out, _ := run(t, "", "instances", "-registry", "etcd://"+listen); code != 0 || !strings.Contains(out, "nothing is registered") {
		t.Errorf("of an empty registry the exit code is %d and the table is %q", code, out)
	}
	code, out, log := run(t, "", "instances", "-registry", "etcd://"+listen, "Arith")
	wants(t, "instances of a service in an empty registry", code, out+log, 1, "no server of Arith is registered", "none of any other service")

	address := serve(t, listen)
	fields := listed(t, "etcd://"+listen, "Arith", "calculator", "here", "owner=tests", "on", "100", "s ago")
	if len(fields) < 3 || fields[0] != "Arith" || fields[1] != "calculator" || fields[2] != address {
		t.Fatalf("the line of the server is %q, want its address %s third", fields, address)
	}
	code, out, log = run(t, "", "instances", "-registry", "etcd://"+listen, "Greeter")
	wants(t, "instances of an unknown service", code, out+log, 1, "no server of Greeter is registered", "only servers of Arith")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := weft.Dial(ctx, fields[2], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	product, err := weft.Invoke[int](ctx, c, "Arith.Mul", &Args{6, 7})
	if err != nil || *product != 42 {
		t.Fatalf("6 times 7 is %v, error %v", product, err)
	}

	// The server and a watch hold connections.
	watching, err := etcd.New(etcd.Config{Endpoints: []string{listen}, Registry: registry.Config{NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Close()
	known := make(chan struct{}, 100)
	defer watching.Watch("Arith", func(*registry.Snapshot) { known <- struct{}{} })()
	<-known
	if _, err := watching.Register(weft.Instance{Service: "weft.Admin", ID: "own", Address: "tcp://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, patience, "services of weft's own are left out", func() error {
		code, out, log := run(t, "", "instances", "-registry", "etcd://"+listen)
		if code != 0 || strings.Contains(out, "weft.Admin") || !strings.Contains(out, "Arith") || !strings.Contains(out, "1 service of administration, health and reflection left out") {
			return fmt.Errorf("instances returns %d:\n%s%s", code, out, log)
		}
		return nil
	})
	expect(t, 0, "weft.Admin", "", "", "instances", "--all", "-registry", "etcd://"+listen)
	if code := up.terminate(t); code != 0 {
		t.Errorf("the exit code after SIGTERM is %d", code)
	}
	if text := up.text(); !strings.HasSuffix(text, "\nThe registry has ended.\n") || strings.Contains(text, "error\t") {
		t.Errorf("at its end it wrote:\n%s", text)
	}

	// It comes back with what it had, and the server registers again.
	upAt(t, listen, data)
	listed(t, "etcd://"+listen, "Arith", address)
}

// TestUpRefuses names addresses and folders that are in use already.
func TestUpRefuses(t *testing.T) {
	listen, data := localPort(t), t.TempDir()
	upAt(t, listen, data)
	file := filepath.Join(t.TempDir(), "file")
	foreign := t.TempDir()
	for _, name := range []string{file, filepath.Join(foreign, "report.txt")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		listen string
		data   string
		want   string // in what it writes
	}{
		{"an address that is taken", listen, t.TempDir(), listen + " is taken"},
		{"an address of another machine", "192.0.2.77:2379", t.TempDir(), "not an address of this machine"},
		{"the folder of a registry that is up", localPort(t), data, "in use by another registry"},
		{"a folder with other files", localPort(t), foreign, `"report.txt"`},
		{"a folder that is a file", localPort(t), file, "not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := start(t, "up", "-listen", test.listen, "-data", test.data)
			select {
			case <-p.exited:
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			if code, text := p.cmd.ProcessState.ExitCode(), p.text(); code != 1 || !strings.Contains(text, test.want) || strings.Count(text, "\n") != 1 {
				t.Errorf("the exit code is %d, want 1 and one line with %q; it wrote:\n%s", code, test.want, text)
			}
		})
	}
}

// TestUpEverywhere listens on all addresses and names one that can be reached.
func TestUpEverywhere(t *testing.T) {
	_, port, _ := strings.Cut(localPort(t), ":")
	p := upAt(t, ":"+port, t.TempDir())
	p.says(t, "It asks for no password")
	var address string
	polltest.True(t, patience, "the program has said with what to look at the registry", func() (whole bool) {
		_, line, _ := strings.Cut(p.text(), "weft instances --registry ")
		address, _, whole = strings.Cut(line, "\n")
		return whole
	})
	if strings.Contains(address, "0.0.0.0") {
		t.Fatalf("the address is %q", address)
	}
	if code, _, log := run(t, "", "instances", "-registry", address); code != 0 {
		t.Errorf("the registry at %q cannot be asked: %s", address, log)
	}
}

// TestUpCluster runs three members, and kills one.
func TestUpCluster(t *testing.T) {
	var members, listen []string
	for i := range 3 {
		members = append(members, fmt.Sprintf("n%d=http://%s", i, localPort(t)))
		listen = append(listen, localPort(t))
	}
	member := func(i int) *process {
		return start(t, "up", "-listen", listen[i], "-data", t.TempDir(), "-name", fmt.Sprintf("n%d", i), "-cluster", strings.Join(members, ","))
	}
	// One alone says that it waits, and can be ended.
	alone := member(0)
	alone.says(t, "most of the members")
	if code := alone.terminate(t); code != 0 {
		t.Errorf("the exit code of a member that waits is %d", code)
	}

	all := []*process{member(0), member(1), member(2)}
	for _, p := range all {
		p.says(t, "The registry is up")
	}
	address := serve(t, listen...)
	registry := "etcd://" + strings.Join(listen, ",")
	listed(t, registry, "Arith", address)
	all[1].cmd.Process.Kill()
	<-all[1].exited
	listed(t, registry, "Arith", address)
	for _, i := range []int{0, 2} {
		if code := all[i].terminate(t); code != 0 {
			t.Errorf("the exit code of member %d is %d", i, code)
		}
	}
}

// TestNoLitter looks for files outside of the folder that was named.
func TestNoLitter(t *testing.T) {
	t.Chdir(t.TempDir())
	p := start(t, "up", "-listen", localPort(t))
	p.says(t, "The registry is up")
	p.terminate(t)
	var found []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." && path != "weft-registry" && !strings.HasPrefix(path, "weft-registry/") {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) > 0 {
		t.Errorf("up has written %q beside its folder, error %v", found, err)
	}
}

// TestQuietRegistry watches a registry in which nothing is written: it answers all the same.
func TestQuietRegistry(t *testing.T) {
	t.Parallel()
	listen := localPort(t)
	upAt(t, listen, filepath.Join(t.TempDir(), "data"))
	reg, err := etcd.New(etcd.Config{Endpoints: []string{listen}, Registry: registry.Config{NoCache: true, Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	var mu sync.Mutex
	since := time.Now()
	var last error
	defer reg.Watch("Arith", func(s *registry.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		if s.Err != nil {
			since, last = time.Now(), s.Err
		}
	})()
	const quiet = 10 * time.Second // a watch ends when a member does not answer for 6 s
	polltest.Until(t, patience, "the registry answers for 10 s", func() error {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(since) < quiet {
			return fmt.Errorf("the last error is %v", last)
		}
		return nil
	})
}
