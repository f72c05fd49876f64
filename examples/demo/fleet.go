package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// fleet is the processes: the registry, and the servers by their names.
type fleet struct {
	ctx      context.Context
	program  string // the path of weft
	folder   string // of everything that is written
	endpoint string // of the registry
	registry *process
	servers  map[string]*process
}

func newFleet(ctx context.Context, program, folder string) (*fleet, error) {
	// A free port: the registry comes back on it after it was away.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fleet{ctx: ctx, program: program, folder: folder, endpoint: l.Addr().String(), servers: make(map[string]*process)}
	return f, errors.Join(l.Close(), os.Mkdir(f.journals(), 0o755))
}

// journals is the folder with the journals of the servers, cache that with the lists
// of the clients.
func (f *fleet) journals() string { return filepath.Join(f.folder, "journals") }
func (f *fleet) cache() string    { return filepath.Join(f.folder, "cache") }

// startRegistry starts the registry, with what it has written before, and waits until
// it serves.
func (f *fleet) startRegistry() error {
	log, err := os.OpenFile(filepath.Join(f.folder, "registry.log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process writes to it
	f.registry, err = start(f.ctx, "weft up", log, f.program, "up", "-listen", f.endpoint, "-data", filepath.Join(f.folder, "registry"))
	if err != nil {
		return err
	}
	if err := f.registry.ready(f.ctx); err != nil {
		text, _ := io.ReadAll(io.NewSectionReader(log, 0, 4<<10))
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// connect makes a registry of the client's side.
func (f *fleet) connect() (*registry.Registry, error) {
	return etcd.New(etcd.Config{Endpoints: []string{f.endpoint}, Registry: registry.Config{CacheDir: f.cache(), Logger: slog.New(slog.DiscardHandler)}})
}

// add starts servers, which register themselves.
func (f *fleet) add(names ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range names {
		p, err := start(f.ctx, "server "+name, os.Stderr, self, "server",
			"-name", name, "-registry", f.endpoint, "-journal", filepath.Join(f.journals(), name))
		if err != nil {
			return err
		}
		f.servers[name] = p
	}
	return nil
}

// kill kills a server, in the middle of its calls.
func (f *fleet) kill(name string) { f.servers[name].kill() }

// freeze stops a server and leaves its connections open; thaw continues it.
func (f *fleet) freeze(name string) error { return f.servers[name].freeze() }
func (f *fleet) thaw(name string) error   { return f.servers[name].thaw() }

// drain has a server drain and exit, and returns how long that took.
func (f *fleet) drain(name string) (time.Duration, error) {
	began := time.Now()
	err := f.servers[name].terminate()
	return time.Since(began), err
}

// slow multiplies the time that the work of a server takes.
func (f *fleet) slow(name string, times int) error { return f.servers[name].tell("slow %d", times) }

// top is what the command "weft top" shows of the servers that are registered. One that has just been killed is
// not shown, which is no error here.
func (f *fleet) top() []string {
	cmd := exec.CommandContext(f.ctx, f.program, "top", "Ledger", "--registry", "etcd://"+f.endpoint, "--count", "1", "--interval", "500ms", "--timeout", "5s")
	var out strings.Builder
	cmd.Stdout = &out
	_ = cmd.Run() // without an output there are no lines
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// drainAll drains the servers that still run, and ends the registry.
func (f *fleet) drainAll() error {
	var left []*process
	for _, p := range f.servers {
		if !p.ended {
			left = append(left, p)
		}
	}
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for i, p := range left {
		wg.Go(func() { errs[i] = p.terminate() })
	}
	wg.Wait()
	return errors.Join(append(errs, f.registry.terminate())...)
}

// killAll kills the processes that still run; after a good end there are none.
func (f *fleet) killAll() {
	for _, p := range f.servers {
		p.kill()
	}
	if f.registry != nil {
		f.registry.kill()
	}
}
