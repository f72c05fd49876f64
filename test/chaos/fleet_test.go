//go:build unix

package chaos

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
	"github.com/weftrpc/weft/registry/registrytest"
)

// ttl is that of the registrations: short, so that the tests see it pass.
const ttl = 3 * time.Second

// fleet is an etcd with servers.
type fleet struct {
	t        *testing.T
	etcd     *registrytest.Process
	endpoint string
	journal  string
	servers  map[string]*server
}

// server is one server process.
type server struct {
	f      *fleet
	name   string
	listen string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of its end
}

func newFleet(t *testing.T, servers ...string) *fleet {
	t.Helper()
	client, peer := registrytest.FreePort(t), registrytest.FreePort(t)
	data := filepath.Join(t.TempDir(), "etcd")
	at := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	f := &fleet{t: t, endpoint: fmt.Sprintf("127.0.0.1:%d", client), journal: filepath.Join(t.TempDir(), "journal"), servers: make(map[string]*server)}
	f.etcd = registrytest.NewProcess(t, registrytest.Program{
		Name: "etcd", Path: registrytest.Find(t, "etcd"), Data: data,
		Args: []string{
			"--name", "n", "--data-dir", data, "--listen-client-urls", at(client), "--advertise-client-urls", at(client),
			"--listen-peer-urls", at(peer), "--initial-advertise-peer-urls", at(peer), "--initial-cluster", "n=" + at(peer),
			"--log-level", "error",
		},
		Ready: func(ctx context.Context) error { return f.answers(ctx) },
	})
	for _, name := range servers {
		f.start(name)
	}
	f.await(len(servers), 10*time.Second)
	return f
}

// answers asks etcd for a document that is not there.
func (f *fleet) answers(ctx context.Context) error {
	reg, err := etcd.New(etcd.Config{Endpoints: []string{f.endpoint}, Registry: registry.Config{NoCache: true}})
	if err != nil {
		return err
	}
	defer reg.Close()
	_, err = reg.Load(ctx, "nothing")
	return err
}

// start starts a server, on the port that one of this name had before.
func (f *fleet) start(name string) *server {
	f.t.Helper()
	s := f.servers[name]
	if s == nil {
		s = &server{f: f, name: name, listen: fmt.Sprintf("tcp://127.0.0.1:%d", registrytest.FreePort(f.t))}
		f.servers[name] = s
		f.t.Cleanup(s.kill)
	}
	text, err := json.Marshal(settings{name, s.listen, f.endpoint, f.journal})
	must(f.t, err)
	self, err := os.Executable()
	must(f.t, err)
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), role+"="+string(text))
	s.cmd.Stderr = os.Stderr
	must(f.t, s.cmd.Start())
	s.exited = make(chan struct{})
	cmd, exited := s.cmd, s.exited
	// It ends with the process, which the end of the test kills.
	go func() {
		s.err = cmd.Wait()
		close(exited)
	}()
	return s
}

// signal sends a signal to the server.
func (s *server) signal(sig syscall.Signal) {
	s.f.t.Helper()
	must(s.f.t, s.cmd.Process.Signal(sig))
}

// kill ends the server at once.
func (s *server) kill() {
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err == nil {
		s.cmd.Process.Kill()
	}
	<-s.exited
}

// stop has the server shut down, and waits.
func (s *server) stop() {
	s.f.t.Helper()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		must(s.f.t, s.err)
	case <-time.After(20 * time.Second):
		s.f.t.Fatalf("%s does not end", s.name)
	}
}

// serves waits until the server can be connected to.
func (s *server) serves() {
	s.f.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", s.listen[len("tcp://"):])
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.f.t.Fatalf("%s does not serve: %v", s.name, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// order tells a server how to behave, and returns how many calls it has run.
func (s *server) order(o Order) uint64 {
	s.f.t.Helper()
	c, err := weft.Dial(s.f.t.Context(), s.listen, nil)
	must(s.f.t, err)
	defer c.Close()
	n, err := weft.Invoke[Number](s.f.t.Context(), c, "Work.Obey", &o)
	must(s.f.t, err)
	return n.N
}

// registry makes a client of the etcd.
func (f *fleet) registry(cfg registry.Config) *registry.Registry {
	f.t.Helper()
	cfg.TTL = ttl
	if cfg.CacheDir == "" {
		cfg.NoCache = true
	}
	reg, err := etcd.New(etcd.Config{Endpoints: []string{f.endpoint}, Registry: cfg})
	must(f.t, err)
	f.t.Cleanup(func() { reg.Close() })
	return reg
}

// await waits until the registry has so many servers.
func (f *fleet) await(n int, within time.Duration) {
	f.t.Helper()
	seen := make(chan int, 64)
	stop := f.registry(registry.Config{Protect: -1}).Watch("Work", func(s *registry.Snapshot) { seen <- len(s.Instances) })
	defer stop()
	for timeout := time.After(within); ; {
		select {
		case got := <-seen:
			if got == n {
				return
			}
		case <-timeout:
			f.t.Fatalf("the registry does not have %d servers after %v", n, within)
		}
	}
}

// client makes a client over all servers; Work.Get is idempotent.
func (f *fleet) client(configure func(*cluster.Config)) *cluster.Client {
	f.t.Helper()
	yes := true
	cfg := cluster.Config{
		Registry: f.registry(registry.Config{}),
		Client:   &weft.ClientConfig{Timeout: 5 * time.Second},
		Methods:  map[string]route.Method{"Work.Get": {Idempotent: &yes}},
	}
	if configure != nil {
		configure(&cfg)
	}
	c, err := cluster.New(&cfg)
	must(f.t, err)
	f.t.Cleanup(func() { must(f.t, c.Close()) })
	return c
}

// load is callers that call without a pause, and what became of it.
type load struct {
	f      *fleet
	c      *cluster.Client
	next   atomic.Uint64
	halt   atomic.Bool
	wg     sync.WaitGroup
	target time.Duration // a call that takes longer is slow

	mu      sync.Mutex
	told    map[uint64]outcome // of the calls of Work.Do
	calls   int                // of Work.Get
	slow    int                // of both
	shares  map[string]int
	errs    []error // of Work.Get
	unsafe  []error // of Work.Do
	longest time.Duration
	last    time.Time     // that a call of either was answered
	gap     time.Duration // the longest time without an answer
}

// outcome is what the client of a call was told.
type outcome uint8

const (
	answered outcome = iota
	unknown          // it may have run
	notRun           // it did not run
)

// drive begins a load of so many callers of each method.
func (f *fleet) drive(c *cluster.Client, idempotent, unmarked int, pause time.Duration) *load {
	l := &load{f: f, c: c, target: 100 * time.Millisecond, told: make(map[uint64]outcome), shares: make(map[string]int)}
	run := func(call func()) {
		l.wg.Go(func() {
			for !l.halt.Load() {
				call()
				if pause > 0 {
					time.Sleep(pause)
				}
			}
		})
	}
	for range idempotent {
		run(l.get)
	}
	for range unmarked {
		run(l.do)
	}
	return l
}

func (l *load) get() {
	began := time.Now()
	a, err := weft.Invoke[Answer](context.Background(), l.c, "Work.Get", &Number{})
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.note(took)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	l.answeredLocked(a.Server)
}

// answeredLocked notes a call that was answered. It is called with the lock held.
func (l *load) answeredLocked(server string) {
	now := time.Now()
	if !l.last.IsZero() {
		l.gap = max(l.gap, now.Sub(l.last))
	}
	l.last = now
	l.shares[server]++
}

func (l *load) do() {
	n := l.next.Add(1)
	began := time.Now()
	a, err := weft.Invoke[Answer](context.Background(), l.c, "Work.Do", &Number{n})
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(took)
	if err == nil {
		l.told[n] = answered
		l.answeredLocked(a.Server)
		return
	}
	l.told[n] = unknown
	if e, ok := errors.AsType[*weft.Error](err); ok && (e.Outcome == weft.NotSent || e.Outcome == weft.Refused) {
		l.told[n] = notRun
	}
	l.unsafe = append(l.unsafe, err)
}

func (l *load) note(took time.Duration) {
	l.longest = max(l.longest, took)
	if took > l.target {
		l.slow++
	}
}

// mark forgets shares, slow calls and gaps, and returns the shares up to now.
func (l *load) mark() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.shares
	l.shares, l.slow, l.longest, l.gap = make(map[string]int), 0, 0, 0
	return was
}

// end ends the load.
func (l *load) end() {
	l.halt.Store(true)
	l.wg.Wait()
}

// verdict compares what clients were told with what ran.
type verdict struct{ calls, lost, doubled, phantom int }

func (l *load) check() verdict {
	l.f.t.Helper()
	data, err := os.ReadFile(l.f.journal)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.f.t.Fatal(err)
	}
	ran := make(map[uint64]int)
	for ; len(data) >= 8; data = data[8:] {
		ran[binary.LittleEndian.Uint64(data)]++
	}
	v := verdict{calls: len(l.told)}
	for n, what := range l.told {
		switch {
		case ran[n] > 1:
			v.doubled++
		case ran[n] == 0 && what == answered:
			v.lost++
		case ran[n] == 1 && what == notRun:
			v.phantom++
		}
	}
	return v
}

// sound fails the test when a call was lost, doubled or a phantom.
func (v verdict) sound(t *testing.T) {
	t.Helper()
	if v.lost+v.doubled+v.phantom > 0 {
		t.Errorf("of %d calls %d were lost, %d doubled, %d phantoms", v.calls, v.lost, v.doubled, v.phantom)
	}
}

// none fails the test when there are errors.
func none(t *testing.T, what string, errs []error) {
	t.Helper()
	if len(errs) > 0 {
		t.Errorf("%d %s failed, the first with: %v", len(errs), what, errs[0])
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
