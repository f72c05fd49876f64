package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
)

// patience is how long a call may take.
const patience = 2 * time.Second

// client is one client of all servers, with its own registry.
type client struct {
	*cluster.Client
	registry *registry.Registry
	reader   *Reader
}

// Reader is what servers may call at a client, over the connection that the client made.
type Reader struct {
	began chan struct{}
	ended chan time.Time
}

func newReader() *Reader { return &Reader{make(chan struct{}, 1), make(chan time.Time, 1)} }

// Confirm says yes to everything.
func (r *Reader) Confirm(_ context.Context, q *Question) (*Answer, error) {
	return &Answer{q.Text + " yes"}, nil
}

// Began is called when Ledger.Wait runs.
func (r *Reader) Began(context.Context, *Nothing) (*Nothing, error) {
	r.began <- struct{}{}
	return &Nothing{}, nil
}

// Ended is called with the time at which Ledger.Wait was cancelled.
func (r *Reader) Ended(_ context.Context, at *Number) (*Nothing, error) {
	r.ended <- time.Unix(0, at.N)
	return &Nothing{}, nil
}

// newClient makes a client. It is given the registry and no server.
func (d *demo) newClient() (*client, error) {
	reg, err := d.fleet.connect()
	if err != nil {
		return nil, err
	}
	reader := newReader()
	callbacks := weft.NewServices() // what servers may call
	if err := callbacks.Register(reader); err != nil {
		return nil, errors.Join(err, reg.Close())
	}
	idempotent := true
	c, err := cluster.New(&cluster.Config{
		Registry: reg,
		Client:   &weft.ClientConfig{Services: callbacks},
		Logger:   slog.New(slog.DiscardHandler), // the page shows what happens; nil: warnings to standard error
		Balancer: balance.SlowStart(d.times.warm, balance.P2C()),
		Health:   health.Config{Eject: d.times.eject},
		Methods: map[string]route.Method{
			"Ledger.*": {Timeout: patience},
			// It may run more than once, so a second server may be called when the first
			// one takes longer than usual.
			"Ledger.Read": {Idempotent: &idempotent, FailMode: cluster.Failbackup},
		},
	})
	if err != nil {
		return nil, errors.Join(err, reg.Close())
	}
	return &client{c, reg, reader}, nil
}

func (c *client) close() error { return errors.Join(c.Client.Close(), c.registry.Close()) }

// uses tells whether the client sends calls of Ledger.Read to a server, other than as
// the last resort.
func (c *client) uses(ctx context.Context, server string) bool {
	for _, k := range c.Explain(ctx, "Ledger.Read", nil).Candidates {
		if k.Instance.ID == server {
			return strings.HasPrefix(k.Why, "it may get the call")
		}
	}
	return false
}

// knows is how many servers the client knows.
func (c *client) knows(ctx context.Context) int {
	return len(c.Explain(ctx, "Ledger.Read", nil).Candidates)
}
