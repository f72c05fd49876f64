// Command hedging shows calls that do not wait for a slow server. One of three servers
// takes almost a second for every tenth of its calls. With the fail mode Failbackup, a
// client that has waited longer than 19 of 20 calls take sends the call to a second
// server as well; the first answer counts and the other attempt is cancelled.
//
// A hedged call may run twice, so this is for methods that are marked idempotent. The
// client learns the delay from the calls themselves, of which it needs fifty, and
// computes it once a second. Hedges and retries share one budget, so that a service
// that is slow as a whole does not get twice its load.
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
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
	Price struct{ Cents int }
)

// slow is how long every tenth call of one server takes.
const slow = 800 * time.Millisecond

// calls is how many calls each client makes while that server is slow.
const calls = 60

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
	ann := &shop{}
	for _, s := range []*shop{ann, {}, {}} {
		srv, err := s.start(ctx, reg)
		if err != nil {
			return err
		}
		defer srv.Close()
	}

	plain, err := slowest(ctx, reg, cluster.Failover, ann)
	if err != nil {
		return err
	}
	fmt.Printf("without hedges the slowest of %d calls took %v\n", calls, plain.Round(10*time.Millisecond))
	before := ann.cancelled.Load()
	hedged, err := slowest(ctx, reg, cluster.Failbackup, ann)
	if err != nil {
		return err
	}
	fmt.Printf("with hedges it took %v\n", hedged.Round(time.Millisecond))
	if plain < slow || hedged >= slow {
		return fmt.Errorf("the slowest call took %v without hedges and %v with them, want more and less than %v", plain, hedged, slow)
	}
	if n := ann.cancelled.Load() - before; n == 0 {
		return fmt.Errorf("no slow call was cancelled")
	}
	fmt.Println("the slow calls were cancelled when another server had answered")
	return nil
}

// slowest makes calls with a client of its own and returns the longest time.
func slowest(ctx context.Context, reg *registry.Registry, mode cluster.FailMode, ann *shop) (time.Duration, error) {
	idempotent := true
	c, err := cluster.New(&cluster.Config{
		Registry: reg,
		Balancer: balance.RoundRobin(), // so that each server gets a third of the calls
		Methods:  map[string]route.Method{"Shop.Price": {Idempotent: &idempotent, FailMode: mode}},
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	call := func() (time.Duration, error) {
		began := time.Now()
		_, err := weft.Invoke[Price](ctx, c, "Shop.Price", &Key{"bolts"})
		return time.Since(began), err
	}
	// The client learns how long the method takes.
	ann.slow.Store(false)
	for n, began := 0, time.Now(); n < calls || time.Since(began) < 1500*time.Millisecond; n++ {
		if _, err := call(); err != nil {
			return 0, err
		}
	}
	ann.slow.Store(true)
	longest := time.Duration(0)
	for range calls {
		took, err := call()
		if err != nil {
			return 0, err
		}
		longest = max(longest, took)
	}
	return longest, nil
}

// shop is the service of one server.
type shop struct {
	slow      atomic.Bool
	asked     atomic.Int64
	cancelled atomic.Int64
}

// Price returns a price, after 5 ms or, if the shop is slow, sometimes much later.
func (s *shop) Price(ctx context.Context, _ *Key) (*Price, error) {
	takes := 5 * time.Millisecond
	if s.slow.Load() && s.asked.Add(1)%10 == 0 {
		takes = slow
	}
	select {
	case <-time.After(takes):
		return &Price{499}, nil
	case <-ctx.Done(): // another server has answered
		s.cancelled.Add(1)
		return nil, ctx.Err()
	}
}

// start starts a server of the shop, which registers itself.
func (s *shop) start(ctx context.Context, reg *registry.Registry) (*weft.Server, error) {
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg})
	if err := weft.Handle(srv, "Shop.Price", s.Price); err != nil {
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
