// Command cluster shows three servers as one: they register themselves, a client
// finds them, spreads its calls, goes on when one leaves, asks all at once, and
// follows a rule that is stored while it runs.
//
// The registry is one in memory, so that nothing else has to run. With
// etcd.New(etcd.Config{Endpoints: …}) in its place, or another of the packages below
// registry, the three servers can be three machines.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

// The messages.
type (
	Key   struct{ Name string }
	Stock struct {
		Server string
		Pieces int
	}
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	reg, err := memory.New(nil)
	if err != nil {
		return err
	}
	defer reg.Close()
	servers := make(map[string]*weft.Server)
	for _, name := range []string{"ann", "bob", "cid"} {
		if servers[name], err = start(ctx, reg, name); err != nil {
			return err
		}
		defer servers[name].Close()
	}

	idempotent := true
	c, err := cluster.New(&cluster.Config{
		Registry: reg,
		Balancer: balance.RoundRobin(), // nil: the faster of two random servers, by latency and load
		Methods:  map[string]route.Method{"Stock.Get": {Idempotent: &idempotent}},
		Logger:   slog.New(slog.DiscardHandler), // nil: warnings, such as of a lost server, go to standard error
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := seen(ctx, c, 3); err != nil {
		return err
	}

	if err := spread(ctx, c, "thirty calls"); err != nil {
		return err
	}
	if err := servers["bob"].Shutdown(ctx); err != nil {
		return err
	}
	if err := spread(ctx, c, "without bob"); err != nil {
		return err
	}
	// No call is lost meanwhile, but all at once means all in the client's list.
	if err := seen(ctx, c, 2); err != nil {
		return err
	}
	answers, err := cluster.Broadcast[Stock](ctx, c, "Stock.Get", &Key{"bolts"})
	if err != nil {
		return err
	}
	for _, a := range answers {
		fmt.Printf("all at once: %s has %d\n", a.Reply.Server, a.Reply.Pieces)
	}
	return rule(ctx, reg, c)
}

// start starts a server, which registers what it serves under the address that it
// listens on.
func start(ctx context.Context, reg *registry.Registry, name string) (*weft.Server, error) {
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg, Instance: weft.Instance{Tags: map[string]string{"name": name}}})
	err := weft.Handle(srv, "Stock.Get", func(_ context.Context, k *Key) (*Stock, error) {
		return &Stock{name, len(k.Name)}, nil
	})
	if err != nil {
		return nil, err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// This goroutine ends with the server.
	go srv.Serve(l)
	return srv, nil
}

// seen waits until the client knows so many servers, for at most five seconds.
func seen(ctx context.Context, c *cluster.Client, n int) error {
	for range 500 {
		if x := c.Explain(ctx, "Stock.Get", nil); len(x.Candidates) == n {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the client does not see %d servers:\n%v", n, c.Explain(ctx, "Stock.Get", nil))
}

// spread makes thirty calls and prints how many each server answered.
func spread(ctx context.Context, c *cluster.Client, when string) error {
	calls := make(map[string]int)
	for range 30 {
		s, err := weft.Invoke[Stock](ctx, c, "Stock.Get", &Key{"nuts"})
		if err != nil {
			return err
		}
		calls[s.Server]++
	}
	fmt.Println(when+":", calls)
	return nil
}

// rule stores a rule that keeps calls from ann. Operators do it with the command
// weft rules; see docs/guide/rules.md.
func rule(ctx context.Context, reg *registry.Registry, c *cluster.Client) error {
	const text = `{"instances": [{"match": {"tags": {"name": "ann"}}, "state": "off"}]}`
	if err := reg.Store(ctx, cluster.RulesDocument("Stock"), []byte(text), 0); err != nil {
		return err
	}
	for range 500 {
		x := c.Explain(ctx, "Stock.Get", nil)
		if usable(x) == 1 {
			fmt.Println("one server is left by the rule")
			return spread(ctx, c, "without ann")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the rule changes nothing:\n%v", c.Explain(ctx, "Stock.Get", nil))
}

// usable counts the servers that a call may go to.
func usable(x *cluster.Explanation) int {
	n := 0
	for _, k := range x.Candidates {
		if k.Eligible {
			n++
		}
	}
	return n
}
