package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

// gated is a balancer that takes long to build the picker of one server: until it is released.
type gated struct {
	balance.Balancer
	server            string
	building, release chan struct{}
	begun             func() // closes building
}

func (g *gated) Build(set []balance.Node) balance.Picker {
	for _, n := range set {
		if n.ID == g.server {
			g.begun()
			<-g.release
		}
	}
	return g.Balancer.Build(set)
}

// TestRebuild has a client make calls while it builds a picker for a new list: those of a method that is called for the
// first time, and its statistics, do not wait for that, and calls go to the old list.
func TestRebuild(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		building := make(chan struct{})
		g := &gated{balance.P2C(), "b", building, make(chan struct{}), sync.OnceFunc(func() { close(building) })}
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = g })
		if got := who(t, t.Context(), c); got != "a" {
			t.Fatalf("%s answers, want a", got)
		}
		f.add("b", weft.Instance{ID: "b"})
		<-g.building
		if r, err := weft.Invoke[Reply](t.Context(), c, "Who.Other", &Args{}); err != nil || r.Server != "a" {
			t.Errorf("the first call of a method while a picker is built: %v, %v, want that of a", r, err)
		}
		if n := len(c.Stats().Servers); n != 2 {
			t.Errorf("%d servers while a picker is built, want 2", n)
		}
		close(g.release)
		synctest.Wait()
		if got := keys(shares(t, c, 100)); got != "[a b]" {
			t.Errorf("answers come from %v, want a and b", got)
		}
	})
}

// churn is a registry whose service Big has 10,000 servers, one of which changes all the time. Other services have one.
type churn struct {
	registry.Driver
	address string
}

func (d *churn) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	var all []weft.Instance
	for n := range 10_000 {
		all = append(all, weft.Instance{Service: service, ID: fmt.Sprint(n), Address: fmt.Sprint("tcp://127.0.0.1:", n+1), Weight: 100})
	}
	if service != "Big" {
		all = all[:1]
		all[0].Address = d.address
	}
	for pause := time.Millisecond; ctx.Err() == nil; {
		emit(registry.List{Instances: slices.Clone(all)})
		if service != "Big" {
			pause = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		all[0].Weight ^= 1
	}
	return ctx.Err()
}

// BenchmarkRebuild makes calls of new methods of one server while the list of another service of 10,000 servers changes all
// the time. longest-ms is the longest time that such a call takes:
//
//	go test ./cluster -run '^$' -bench Rebuild -benchtime 1000x -count 5
func BenchmarkRebuild(b *testing.B) {
	for _, balancer := range []balance.Balancer{balance.P2C(), balance.Ring(), balance.Maglev()} {
		b.Run(fmt.Sprintf("%T", balancer), func(b *testing.B) {
			srv := weft.NewServer(&weft.ServerConfig{Logger: silent()})
			for n := range b.N {
				must(b, weft.HandleRaw(srv, fmt.Sprint("Echo.M", n), func(_ context.Context, req, _ []byte) ([]byte, error) { return req, nil }))
			}
			l, err := srv.Listen(b.Context(), "tcp://127.0.0.1:0")
			must(b, err)
			go srv.Serve(l) // this goroutine ends with the server
			defer srv.Close()
			reg, err := registry.New("churn", &churn{memory.NewStore().Driver(), "tcp://" + l.Addr().String()}, &registry.Config{NoCache: true, Protect: -1, Logger: silent()})
			must(b, err)
			defer reg.Close()
			c, err := cluster.New(&cluster.Config{Registry: reg, Balancer: balancer, NoRules: true, Logger: silent(), Client: &weft.ClientConfig{Codec: raw.New(), Lazy: true}})
			must(b, err)
			defer c.Close()
			c.Explain(b.Context(), "Big.M", nil) // has it watched, and waits for its first list
			message, longest := []byte("hello"), time.Duration(0)
			for n := range b.N {
				var reply []byte
				began := time.Now()
				must(b, c.Call(b.Context(), fmt.Sprint("Echo.M", n), &message, &reply))
				if took := time.Since(began); n > 0 {
					longest = max(longest, took)
				}
				time.Sleep(time.Millisecond)
			}
			b.ReportMetric(float64(longest)/1e6, "longest-ms")
		})
	}
}
