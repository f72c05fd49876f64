package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/transport"
)

// budget is that of every client of many servers: small, so that it is reached.
var budget = retry.BudgetConfig{Ratio: 0.05, Floor: 1}

// world is a plan that is carried out.
type world struct {
	t         testing.TB
	plan      *plan
	mutation  mutation
	net       *network
	authority *authority
	ledger    *ledger
	hosts     []*host
	clients   []*client

	mu      sync.Mutex
	stopped map[string]time.Duration // when clients began to shut down
	wg      sync.WaitGroup           // of faults
}

// host is one address with the server that runs there, one after the other.
type host struct {
	w      *world
	name   string
	worker *worker

	mu     sync.Mutex
	busy   bool // it restarts, or is dead
	srv    *weft.Server
	reg    *registry.Registry
	driver *driver
	served sync.WaitGroup
}

// caller is a client of one server or of many.
type caller interface {
	weft.StreamCaller
	Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error
	Shutdown(ctx context.Context) error
	Close() error
}

var (
	_ caller = (*weft.Client)(nil)
	_ caller = (*cluster.Client)(nil)
)

// client is one client with what it needs.
type client struct {
	plan clientPlan
	caller
	reg  *registry.Registry
	once sync.Once
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// simulate carries a plan out, and returns what was wrong. It runs in a bubble.
func simulate(t testing.TB, p *plan, m mutation) []string {
	return newWorld(t, p, m).run()
}

func newWorld(t testing.TB, p *plan, m mutation) *world {
	return &world{
		t: t, plan: p, mutation: m, net: newNetwork(p.Seed, p.Weather), authority: newAuthority(), ledger: newLedger(),
		stopped: make(map[string]time.Duration),
	}
}

// run carries the plan out.
func (w *world) run() []string {
	p := w.plan
	for _, name := range p.Hosts {
		h := &host{w: w, name: name, worker: &worker{name: name, ledger: w.ledger}}
		w.hosts = append(w.hosts, h)
		h.start()
	}
	synctest.Wait() // until they are registered
	for _, c := range p.Clients {
		w.clients = append(w.clients, w.connect(c))
	}
	var callers sync.WaitGroup
	for _, c := range w.clients {
		for _, calls := range c.plan.Callers {
			callers.Go(func() { w.call(c, calls) })
		}
		if c.plan.Leaves > 0 {
			callers.Go(func() {
				time.Sleep(c.plan.Leaves)
				w.leave(c)
			})
		}
	}
	w.wreak()
	callers.Wait()
	w.wg.Wait()
	w.recover()
	return append(w.ledger.verdict(p, w.stopped), w.close()...)
}

// start puts a new server on the address.
func (h *host) start() {
	w, limits := h.w, h.w.plan.Limits
	h.driver = w.authority.driver()
	reg, err := registry.New("sim", h.driver, &registry.Config{NoCache: true, TTL: 5 * time.Second, Logger: silent()})
	w.must(err)
	comp := snappy.New()
	srv := weft.NewServer(&weft.ServerConfig{
		Transports: []transport.Transport{w.net.of("server-" + h.name)}, Registry: reg, Logger: silent(), Limits: limits,
		Checksum: true, Compressor: comp, Compressors: []compress.Compressor{comp},
	})
	w.must(h.worker.register(srv, "Work"))
	l, err := srv.Listen(context.Background(), "sim://"+h.name)
	w.must(err)
	h.srv, h.reg = srv, reg
	h.served.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, weft.ErrServerClosed) {
			w.ledger.wrong("Serve of %s returned %v", h.name, err)
		}
	})
}

// claim reserves the host for one fault at a time.
func (h *host) claim() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy {
		return false
	}
	h.busy = true
	return true
}

func (h *host) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy = false
}

// restart drains the server, and has a new one in its place as soon as the address is free.
func (h *host) restart(grace time.Duration) {
	if !h.claim() {
		return
	}
	defer h.release()
	srv, reg := h.srv, h.reg
	var old sync.WaitGroup
	old.Go(func() { h.shutDown(srv, reg, grace) })
	for range 10_000 {
		h.w.net.mu.Lock()
		taken := h.w.net.listeners[h.name] != nil
		h.w.net.mu.Unlock()
		if !taken {
			break
		}
		time.Sleep(time.Millisecond)
	}
	h.start()
	old.Wait()
}

// shutDown drains a server within a time, and checks that nothing is left of it.
func (h *host) shutDown(srv *weft.Server, reg *registry.Registry, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	began := time.Now()
	err := srv.Shutdown(ctx)
	if took := time.Since(began); took > grace+10*time.Second {
		h.w.ledger.wrong("the shutdown of %s took %v with %v: %v", h.name, took, grace, err)
	}
	if err != nil && h.w.plan.peaceful() {
		h.w.ledger.wrong("the shutdown of %s failed: %v", h.name, err)
	}
	w := srv.Stats()
	if w.Connections != 0 || w.InFlight != 0 {
		h.w.ledger.wrong("after the shutdown %s has %d connections and %d calls in flight", h.name, w.Connections, w.InFlight)
	}
	reg.Close()
}

// kill ends the server as the death of its process does: its connections are reset, and nothing
// of it reaches the registry.
func (h *host) kill(away time.Duration, lose bool) {
	if !h.claim() {
		return
	}
	defer h.release()
	h.w.net.refuse(h.name, true)
	for _, k := range h.w.net.live(h.name) {
		k.cut(lose)
	}
	h.driver.die()
	h.srv.Close()
	h.reg.Close()
	h.served.Wait()
	time.Sleep(away)
	h.w.net.refuse(h.name, false)
	h.start()
}

// connect makes a client.
func (w *world) connect(p clientPlan) *client {
	back := weft.NewServices()
	w.must((&worker{name: p.Name, ledger: w.ledger}).register(back, "Back"))
	cfg := &weft.ClientConfig{
		Transports: []transport.Transport{w.net.of(p.Name)}, Services: back, Logger: silent(), Limits: w.plan.Limits,
		Checksum: p.Checksum, MaxConns: p.MaxConns, Compressors: []compress.Compressor{snappy.New()}, Lazy: true,
	}
	if p.Compress {
		cfg.Compressor, cfg.Codec = snappy.New(), json.New()
	}
	if p.Recorded || w.mutation != nil {
		cfg.Interceptors = append(cfg.Interceptors, w.record)
	}
	if w.mutation != nil {
		cfg.Interceptors = append(cfg.Interceptors, w.mutation)
	}
	c := &client{plan: p}
	if p.Direct != "" {
		direct, err := weft.Dial(context.Background(), "sim://"+p.Direct, cfg)
		w.must(err)
		c.caller = direct
		return c
	}
	reg, err := registry.New("sim", w.authority.driver(), &registry.Config{NoCache: true, TTL: 5 * time.Second, Logger: silent()})
	w.must(err)
	balancers := []balance.Balancer{nil, balance.RoundRobin(), balance.Random(), balance.LeastInFlight(), balance.Fastest(), balance.P2C()}
	many, err := cluster.New(&cluster.Config{
		Registry: reg, Client: cfg, FailMode: p.FailMode, Balancer: balancers[p.Balancer], Budget: budget, Logger: silent(),
	})
	w.must(err)
	c.caller, c.reg = many, reg
	return c
}

// record notes every attempt.
func (w *world) record(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	a := w.ledger.begin(req.(*Order).ID)
	reply, err := next(ctx, info, req)
	w.ledger.finish(a, err)
	return reply, err
}

// leave shuts a client down.
func (w *world) leave(c *client) {
	c.once.Do(func() {
		w.mu.Lock()
		w.stopped[c.plan.Name] = w.ledger.now()
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		began := time.Now()
		err := c.Shutdown(ctx)
		if took := time.Since(began); took > 40*time.Second {
			w.ledger.wrong("the shutdown of %s took %v: %v", c.plan.Name, took, err)
		}
		if c.reg != nil {
			c.reg.Close()
		}
	})
}

// recover ends all faults, and checks that every client gets an answer again.
func (w *world) recover() {
	w.authority.set(func() { w.authority.away, w.authority.empty = false, false })
	w.net.heal(w.plan.Hosts)
	for _, h := range w.hosts {
		h.worker.slow.Store(0)
	}
	time.Sleep(75 * time.Second)
	for _, c := range w.clients {
		if c.plan.Leaves > 0 {
			continue
		}
		var err error
		for range 3 {
			o := &Order{ID: w.ledger.fresh(), Back: 3}
			x := w.ledger.open(o.ID, c.plan.Name, once, callPlan{Order: *o, Timeout: 5 * time.Second})
			var r *Receipt
			r, err = weft.Invoke[Receipt](context.Background(), c, "Work.Once", o, weft.WithTimeout(5*time.Second))
			if w.ledger.close(x, r, err); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		if err != nil {
			w.ledger.wrong("%s gets no answer 75 s after all faults have ended: %v", c.plan.Name, err)
		}
	}
}

// close ends everything, and returns what is left.
func (w *world) close() []string {
	for _, c := range w.clients {
		w.leave(c)
	}
	for _, h := range w.hosts {
		h.shutDown(h.srv, h.reg, 30*time.Second)
		h.served.Wait()
	}
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	var out []string
	for _, end := range w.net.unclosed() {
		out = append(out, end+" was not closed")
	}
	return out
}

func (w *world) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("seed %d: %v", w.plan.Seed, err))
	}
}
