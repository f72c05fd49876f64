package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Args is what the tests send, Reply what they get: the server that answered.
type (
	Args  struct{ N int }
	Reply struct {
		Server  string
		Attempt int
	}
)

// fleet is a network in memory with a registry and servers on it.
type fleet struct {
	t     *testing.T
	net   *mem.Network
	store *memory.Store

	mu      sync.Mutex
	servers map[string]*node
}

// node is one server. What its fields say may change while it serves.
type node struct {
	name string
	srv  *weft.Server
	reg  *registry.Registry
	took atomic.Int64 // nanoseconds that a call takes
	runs atomic.Int64
	open atomic.Int64
	fail atomic.Pointer[weft.Error]
}

// Who answers with the server's name.
func (n *node) Who(ctx context.Context, a *Args) (*Reply, error) {
	n.runs.Add(1)
	n.open.Add(1)
	defer n.open.Add(-1)
	if err := weft.SetReplyMetadata(ctx, "server", n.name); err != nil {
		return nil, err
	}
	if d := n.took.Load(); d > 0 {
		select {
		case <-time.After(time.Duration(d)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if e := n.fail.Load(); e != nil {
		return nil, e
	}
	return &Reply{n.name, weft.AttemptFrom(ctx)}, nil
}

// Other is a second method.
func (n *node) Other(ctx context.Context, a *Args) (*Reply, error) {
	return &Reply{Server: n.name}, nil
}

// Chat answers every message with the server's name.
func (n *node) Chat(_ context.Context, s *weft.Stream[Args, Reply]) error {
	for _, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(&Reply{Server: n.name}); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) slow(d time.Duration) { n.took.Store(int64(d)) }

func newFleet(t *testing.T, names ...string) *fleet {
	f := &fleet{t: t, net: mem.New(), store: memory.NewStore(), servers: make(map[string]*node)}
	for _, name := range names {
		f.add(name, weft.Instance{})
	}
	return f
}

// add starts a server that registers itself.
func (f *fleet) add(name string, i weft.Instance) *node {
	f.t.Helper()
	reg, err := f.store.Registry(&registry.Config{Logger: silent()})
	must(f.t, err)
	n := &node{name: name, reg: reg}
	n.srv = weft.NewServer(&weft.ServerConfig{Logger: silent(), Registry: reg, Instance: i, Transports: []transport.Transport{f.net}})
	must(f.t, n.srv.RegisterName("Who", n))
	l, err := n.srv.Listen(f.t.Context(), "mem://"+name)
	must(f.t, err)
	go n.srv.Serve(l) // this goroutine ends with the server
	synctest.Wait()   // until it is registered
	f.t.Cleanup(func() {
		n.srv.Close()
		n.reg.Close()
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers[name] = n
	return n
}

// client makes a client of the fleet; configure may be nil.
func (f *fleet) client(configure func(*cluster.Config)) *cluster.Client {
	f.t.Helper()
	reg, err := f.store.Registry(&registry.Config{Logger: silent()})
	must(f.t, err)
	cfg := cluster.Config{Logger: silent(), Registry: reg, Client: &weft.ClientConfig{Transports: []transport.Transport{f.net}}}
	if configure != nil {
		configure(&cfg)
	}
	c, err := cluster.New(&cfg)
	must(f.t, err)
	f.t.Cleanup(func() {
		must(f.t, c.Close())
		must(f.t, reg.Close())
	})
	return c
}

// rules stores the rules of the service.
func (f *fleet) rules(doc string) {
	f.t.Helper()
	d, name := f.store.Driver().(registry.Documents), cluster.RulesDocument("Who")
	old, err := d.Load(f.t.Context(), name)
	must(f.t, err)
	must(f.t, d.Store(f.t.Context(), name, []byte(doc), old.Version))
	time.Sleep(time.Second)
}

func who(t *testing.T, ctx context.Context, c weft.Caller, opts ...weft.CallOption) string {
	t.Helper()
	r, err := weft.Invoke[Reply](ctx, c, "Who.Who", &Args{}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Server
}

// shares makes n calls, one after the other, and counts which servers answer.
func shares(t *testing.T, c weft.Caller, n int) map[string]int {
	t.Helper()
	out := make(map[string]int)
	for range n {
		out[who(t, t.Context(), c)]++
	}
	return out
}

// bubble runs a test on a clock of its own.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// silent drops what is logged.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the kind of an error and parts of its text.
func wantError(t *testing.T, err error, code weft.Code, outcome weft.Outcome, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		t.Fatalf("the error is %v, want one of code %v", err, code)
	}
	if e.Code != code || e.Outcome != outcome {
		t.Errorf("the error is %v, want %v with outcome %v", err, code, outcome)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q and lacks %q", err, part)
		}
	}
}

func keys(m map[string]int) string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}
