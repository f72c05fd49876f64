package cluster_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/transport"
)

var errCredential = errors.New("no credential")

// Hedges and fan-outs make attempts on goroutines of their own. What the user's code panics with there reaches the caller, which may recover
// it, and so does runtime.Goexit.
func TestPanicReachesTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(10 * time.Millisecond)
		}
		var attempts atomic.Int64 // until the one that does not return; below zero: all do
		var exits atomic.Bool
		attempts.Store(-1)
		c := f.client(func(cfg *cluster.Config) {
			cfg.FailMode, cfg.Balancer = cluster.Failbackup, balance.RoundRobin()
			cfg.Client = &weft.ClientConfig{
				Transports: []transport.Transport{f.net},
				Credential: func(context.Context, string) (weft.Credential, error) {
					if attempts.Load() >= 0 && attempts.Add(-1) < 0 {
						if exits.Load() {
							runtime.Goexit()
						}
						panic(errCredential)
					}
					return weft.Credential{Scheme: "Bearer", Token: "t"}, nil
				},
			}
		})
		ctx := cluster.WithIdempotent(t.Context())
		for range 200 {
			who(t, ctx, c)
		}
		time.Sleep(2 * time.Second)
		for _, n := range f.servers {
			n.slow(time.Second)
		}
		calls := []struct {
			name string
			call func()
		}{
			// First, before answers that take a second make a hedge later.
			{"Call", func() { c.Call(ctx, "Who.Who", &Args{}, &Reply{}) }},
			{"Inform", func() { cluster.Inform[Reply](ctx, c, "Who.Who", &Args{}) }},
			{"Broadcast", func() { cluster.Broadcast[Reply](ctx, c, "Who.Who", &Args{}) }},
			{"Fork", func() { cluster.Fork[Reply](ctx, c, "Who.Who", &Args{}) }},
		}
		for _, test := range calls {
			name, call := test.name, test.call
			for before := range int64(2) {
				exits.Store(false)
				attempts.Store(before)
				p, returned := endOf(call)
				if err, _ := p.(error); returned || !errors.Is(err, errCredential) {
					t.Errorf("%s, attempt %d panics: the caller's goroutine ended with %v, returned %v", name, before+1, p, returned)
				}
				exits.Store(true)
				attempts.Store(before)
				if p, returned := endOf(call); returned || p != nil {
					t.Errorf("%s, attempt %d calls Goexit: the caller's goroutine ended with %v, returned %v", name, before+1, p, returned)
				}
			}
		}
		// Go has no goroutine of the caller's to end.
		for _, exit := range []bool{false, true} {
			exits.Store(exit)
			attempts.Store(0)
			call := <-c.Go(ctx, "Who.Who", &Args{}, &Reply{}, nil).Done
			if weft.CodeOf(call.Error) != weft.Internal {
				t.Errorf("Go, the first attempt does not return, by Goexit %v: the call ended with %v", exit, call.Error)
			}
		}
		time.Sleep(time.Minute)
		for _, k := range c.Explain(t.Context(), "Who.Who", nil).Candidates {
			if k.InFlight != 0 {
				t.Errorf("server %s has %d calls in flight", k.Instance.ID, k.InFlight)
			}
		}
	})
}

// endOf calls f on a goroutine, and tells what it panicked with and whether it returned.
func endOf(f func()) (p any, returned bool) {
	over := make(chan struct{})
	go func() { // it ends with f
		defer close(over)
		defer func() { p = recover() }()
		f()
		returned = true
	}()
	<-over
	return p, returned
}
