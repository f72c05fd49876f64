package together_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/concurrency"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/quota"
	"github.com/weftrpc/weft/plugin/ratelimit"
	"github.com/weftrpc/weft/plugin/reserve"
)

// A refusal has its code, its reason, its outcome and the time to come back over weft's own wire and over gRPC, and the
// server counts it.
func TestRefusals(t *testing.T) {
	type after string
	const never, later, unsaid after = "never", "later", "unsaid"
	for name, c := range map[string]struct {
		make   func() (weft.Plugin, error)
		code   weft.Code
		reason string
		after  after
	}{
		"acl": {func() (weft.Plugin, error) {
			a, err := acl.New(acl.Rules{Deny: []acl.Rule{{Methods: []string{"Arith.Mul"}}}})
			return a.Plugin(), err
		}, weft.PermissionDenied, acl.Reason, unsaid},
		"concurrency": {func() (weft.Plugin, error) {
			l, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{{By: concurrency.Service, Calls: 1}}})
			return l.Plugin(), err
		}, weft.ResourceExhausted, concurrency.Reason, unsaid},
		"ratelimit": {func() (weft.Plugin, error) {
			l, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{{By: ratelimit.Address, Rate: 0.001, Burst: 1}}})
			return l.Plugin(), err
		}, weft.ResourceExhausted, ratelimit.Reason, later},
		"quota": {func() (weft.Plugin, error) {
			q, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Address, Calls: 1, Every: 100_000 * time.Hour}}})
			return q.Plugin(), err
		}, weft.ResourceExhausted, quota.Reason, later},
		"quota of none": {func() (weft.Plugin, error) {
			q, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Address, Every: time.Hour, Of: map[string]int64{"127.0.0.1": 0}}}})
			return q.Plugin(), err
		}, weft.ResourceExhausted, quota.Reason, never},
		"reserve": {func() (weft.Plugin, error) {
			r, err := reserve.New(&reserve.Config{AtLeast: 2 * time.Hour, Methods: []string{"Arith.Mul"}})
			return r.Plugin(), err
		}, weft.DeadlineExceeded, reserve.Reason, never},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.make()
			must(t, err)
			w := plugintest.Serve(t, &weft.ServerConfig{Doors: []weft.Door{grpc.Door(nil)}, Plugins: []weft.Plugin{p}})
			native := w.Dial(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			used := native.Go(ctx, "Arith.Sleep", &plugintest.Args{A: 600_000}, nil, nil, weft.WithTimeout(3*time.Hour)) // what there is
			defer func() {
				cancel()
				<-used.Done
			}()
			foreign, err := weft.Dial(t.Context(), "grpc://"+w.Addr, &weft.ClientConfig{Wires: []weft.Wire{grpc.Wire(nil)}})
			must(t, err)
			defer foreign.Close()
			refusals := uint64(0)
			for wire, client := range map[string]*weft.Client{"weft": native, "grpc": foreign} {
				var e *weft.Error
				polltest.True(t, time.Minute, "a call over "+wire+" is refused", func() bool {
					err := client.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil, weft.WithTimeout(time.Hour))
					var ok bool
					if e, ok = errors.AsType[*weft.Error](err); ok {
						refusals++
					}
					return ok
				})
				if e.Code != c.code || e.Reason != c.reason || e.Outcome != weft.Refused {
					t.Errorf("over %s: %v, outcome %v", wire, e, e.Outcome)
				}
				wait, said := e.RetryAfter()
				got := unsaid
				switch {
				case said && wait < 0:
					got = never
				case said && wait > 0:
					got = later
				}
				if got != c.after {
					t.Errorf("over %s it says when to come back: %s (%v), want %s", wire, got, wait, c.after)
				}
			}
			if n := w.Server.Stats().Refused[c.reason]; n < refusals {
				t.Errorf("%d of %d refusals are counted", n, refusals)
			}
		})
	}
}
