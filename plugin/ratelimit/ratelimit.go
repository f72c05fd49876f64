// Package ratelimit bounds how many calls a second a server takes: all, by service, method,
// principal or address. A call beyond a limit is refused before its request is decoded, with
// ResourceExhausted and the time after which it may be made again.
//
//	l, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{
//		{By: ratelimit.Server, Rate: 10_000},
//		{By: ratelimit.Principal, Rate: 100, Burst: 200, Methods: []string{"Orders.*"}},
//	}})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}})
package ratelimit

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/keyed"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Reason is the Error.Reason of a call that is beyond a limit.
const Reason = "RATE_LIMITED"

// By says what has a rate of its own.
type By = keyed.By

// What can have a rate of its own.
const (
	Server    = keyed.Server    // all calls together
	Service   = keyed.Service   // the calls of each service
	Method    = keyed.Method    // the calls of each method
	Principal = keyed.Principal // the calls of each principal; those without a name together
	Address   = keyed.Address   // the calls from each IP address, whatever the port; of IPv6 from each /64
)

// Limit is one limit. A call is counted against every limit that it fits.
type Limit struct {
	By      By
	Rate    float64  // calls a second
	Burst   int      // calls at once, when there were none before. 0: a second's, at least 1
	Methods []string // "Arith.Mul", "Arith.*", "*"; nil: all
}

// DefaultMaxKeys is how many principals, addresses and so on each limit tells apart.
const DefaultMaxKeys = 10_000

// Config configures a Limiter.
type Config struct {
	// Limits must not be empty.
	Limits []Limit
	// MaxKeys is how many keys each limit tells apart. One that has not been used for so long
	// that it has its burst again makes room; the calls of further keys share one limit. 0:
	// DefaultMaxKeys.
	MaxKeys int
}

// Limiter holds limits. Its methods may be called from any goroutine.
type Limiter struct{ limits []*limit }

// New makes a Limiter.
func New(cfg *Config) (*Limiter, error) {
	if cfg == nil || len(cfg.Limits) == 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "ratelimit: there are no limits in the configuration")
	}
	keys := cfg.MaxKeys
	if keys == 0 {
		keys = DefaultMaxKeys
	}
	if keys < 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "ratelimit: Config.MaxKeys is %d, want 0 (%d) or more", keys, DefaultMaxKeys)
	}
	l := &Limiter{}
	for i, c := range cfg.Limits {
		wrong := func(format string, args ...any) error {
			return weft.Errorf(weft.InvalidArgument, "ratelimit: Limits[%d]: "+format, append([]any{i}, args...)...)
		}
		switch {
		case !c.By.Known():
			return nil, wrong("By is %q, want server, service, method, principal or address", c.By)
		case !(c.Rate >= 1e-6 && c.Rate <= 1e9):
			return nil, wrong("Rate is %v, want 0.000001 to 1e9 calls a second", c.Rate)
		case c.Burst < 0:
			return nil, wrong("Burst is %d, want 0 or more", c.Burst)
		}
		if err := match.Methods(c.Methods).Check(); err != nil {
			return nil, wrong("%w", err)
		}
		burst := c.Burst
		if burst == 0 {
			burst = int(max(1, math.Ceil(c.Rate)))
		}
		l.limits = append(l.limits, newLimit(c.By, slices.Clone(c.Methods), c.Rate, burst, keys))
	}
	return l, nil
}

// Plugin is for the Plugins of a server.
func (l *Limiter) Plugin() weft.Plugin {
	return weft.Plugin{Name: "ratelimit", Hooks: []any{hook{l, time.Now()}}}
}

// hook is what the server calls.
type hook struct {
	l     *Limiter
	began time.Time
}

// BeforeReadRequestBody refuses a call that is beyond a limit.
func (h hook) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	now := time.Since(h.began)
	for _, limit := range h.l.limits {
		if !limit.methods.Has(info.Method) {
			continue
		}
		if wait := limit.take(limit.by.Of(ctx, info), now); wait > 0 {
			return weft.Errorf(weft.ResourceExhausted, "more calls than the server takes by %s: %g a second", limit.by, limit.rate).
				WithReason(Reason).WithRetryAfter(wait)
		}
	}
	return nil
}
