package cluster_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/route"
)

// statsOf returns the statistics of one method.
func statsOf(t *testing.T, c *cluster.Client, method string) cluster.MethodStats {
	t.Helper()
	for _, m := range c.Stats().Methods {
		if m.Method == method {
			return m
		}
	}
	t.Fatalf("there are no statistics of %s", method)
	return cluster.MethodStats{}
}

func TestStatsOfCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Balancer = balance.RoundRobin()
			cfg.Methods = map[string]route.Method{"Who.Other": {Rate: 1}}
		})
		for _, n := range f.servers {
			n.slow(10 * time.Millisecond)
		}
		shares(t, c, 30)
		must(t, c.Notify(t.Context(), "Who.Who", &Args{}))
		s, err := c.OpenStream(t.Context(), "Who.Chat", &Args{})
		must(t, err)
		s.Close()
		m := statsOf(t, c, "Who.Who")
		if m.Calls != 31 || len(m.Codes) != 0 || m.Retries != 0 || m.Latency.Count != 31 {
			t.Errorf("after 31 calls: %+v", m)
		}
		if q := m.Latency.Quantile(0.5); q < 10*time.Millisecond || q > 13*time.Millisecond {
			t.Errorf("the median is %v, want 10 ms", q)
		}
		if n := statsOf(t, c, "Who.Chat").Streams; n != 1 {
			t.Errorf("%d streams were counted", n)
		}
		// A call that is made three times is one call, and two retries.
		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Unavailable, "no"))
		}
		_, err = weft.Invoke[Reply](cluster.WithIdempotent(t.Context()), c, "Who.Who", &Args{})
		if err == nil {
			t.Error("the call went well")
		}
		m = statsOf(t, c, "Who.Who")
		if m.Calls != 32 || m.Codes[weft.Unavailable] != 1 || m.Retries != 2 {
			t.Errorf("after a call that failed: %+v", m)
		}
		// What the client itself refuses is counted as well.
		for range 2 {
			c.Call(t.Context(), "Who.Other", &Args{}, &Reply{})
		}
		if m = statsOf(t, c, "Who.Other"); m.Calls != 2 || m.Codes[weft.ResourceExhausted] != 1 {
			t.Errorf("after a call that was refused here: %+v", m)
		}
	})
}

func TestStatsOfServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		r := f.resets()
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		shares(t, c, 30)
		at := func(address string) cluster.ServerStats {
			for _, s := range c.Stats().Servers {
				if s.Address == address {
					return s
				}
			}
			t.Fatalf("there are no statistics of %s", address)
			return cluster.ServerStats{}
		}
		if s := at("mem://a"); s.State != health.Healthy || s.Connections != 1 || len(s.Breakers) != 1 || s.Breakers[0].Method != "Who.Who" {
			t.Errorf("a server that is well: %+v", s)
		}
		// A method that fails there.
		f.servers["a"].fail.Store(weft.Errorf(weft.Internal, "broken"))
		for range 60 {
			c.Call(t.Context(), "Who.Who", &Args{}, &Reply{})
		}
		if s := at("mem://a"); s.Breakers[0].State != breaker.Open || s.Breakers[0].Opened != 1 {
			t.Errorf("the breaker of a method that fails: %+v", s.Breakers)
		}
		if n := statsOf(t, c, "Who.Who").BreakerOpenings; n != 1 {
			t.Errorf("%d openings were counted", n)
		}
		// One that hangs.
		f.servers["a"].fail.Store(nil)
		first := c
		c = f.client(nil)
		for _, n := range f.servers {
			n.slow(20 * time.Millisecond)
		}
		var made atomic.Int64
		load(t, c, 16, 0, &made, func(error) {}, func() {
			time.Sleep(time.Second)
			f.servers["b"].slow(time.Hour)
			time.Sleep(3 * time.Second)
			if s := at("mem://b"); s.State != health.Ejected || s.Ejections != 1 || s.Why == "" {
				t.Errorf("a server that hangs: %+v", s)
			}
			f.servers["b"].slow(20 * time.Millisecond)
			time.Sleep(time.Minute)
		})
		if s, all := at("mem://b"), c.Stats(); s.State != health.Healthy || s.Returns < 1 || all.Ejections < 1 || all.Returns < 1 {
			t.Errorf("a server that works again: %+v; in all %d ejections and %d returns", s, all.Ejections, all.Returns)
		}
		// One that leaves takes nothing of what was counted with it.
		must(t, f.servers["a"].srv.Shutdown(t.Context()))
		time.Sleep(time.Second)
		c = first
		all := c.Stats()
		if n := statsOf(t, c, "Who.Who").BreakerOpenings; n < 1 || len(all.Servers) != 2 {
			t.Errorf("without the server there are %d openings, and %d servers", n, len(all.Servers))
		}
		// A connection that is lost.
		r.all()
		time.Sleep(time.Second)
		if s, all := at("mem://b"), c.Stats(); s.Losses != 1 || s.State != health.Healthy || all.Losses < 2 {
			t.Errorf("a server whose connection was lost: %+v; in all %d losses", s, all.Losses)
		}
	})
}
