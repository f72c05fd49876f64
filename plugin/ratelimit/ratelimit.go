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
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/keyed"
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

// Limit is one limit. A call is counted against every limit that it fits, or against none when one of them refuses
// it: what a caller is refused takes nothing from the others.
type Limit struct {
	By      By
	Rate    float64  // calls a second
	Burst   int      // calls at once, when there were none before. 0: a second's, at least 1
	Methods []string // "Arith.Mul", "Arith.*", "*"; nil: all
}

// DefaultMaxKeys is how many principals, addresses and so on each limit tells apart.
const DefaultMaxKeys = keyed.DefaultMaxKeys

// Config configures a Limiter.
type Config struct {
	// Limits must not be empty.
	Limits []Limit
	// MaxKeys is how many keys each limit tells apart. One that has not been used for so long
	// that it has its burst again makes room; the calls of further keys share one limit. 0:
	// DefaultMaxKeys.
	MaxKeys int
	// OwnServices counts calls of the services that weft registers for operators and tools too: health,
	// administration, reflection. Otherwise they are counted by a limit alone whose Methods name them or
	// their service, so that a caller that has used up what it may call can still be probed and looked at.
	OwnServices bool
}

// Limiter holds limits. Its methods may be called from any goroutine.
type Limiter struct {
	limits []*limit

	mu     sync.Mutex
	latest time.Duration // time of a call
}

// New makes a Limiter.
func New(cfg *Config) (*Limiter, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	shared := keyed.Config{Plugin: "ratelimit", List: "Limits", Entries: len(cfg.Limits), MaxKeys: cfg.MaxKeys, OwnServices: cfg.OwnServices}
	keys, err := shared.Keys()
	if err != nil {
		return nil, err
	}
	l := &Limiter{}
	for i, c := range cfg.Limits {
		scope, err := shared.Scope(i, c.By, c.Methods)
		switch {
		case err != nil:
			return nil, err
		case !(c.Rate >= 1e-6 && c.Rate <= 1e9):
			return nil, shared.Wrong(i, "Rate is %v, want 0.000001 to 1e9 calls a second", c.Rate)
		case c.Burst < 0:
			return nil, shared.Wrong(i, "Burst is %d, want 0 or more", c.Burst)
		}
		burst := c.Burst
		if burst == 0 {
			burst = int(max(1, math.Ceil(c.Rate)))
		}
		l.limits = append(l.limits, newLimit(scope, c.Rate, burst, keys))
	}
	return l, nil
}

// Plugin is for the Plugins of a server.
func (l *Limiter) Plugin() weft.Plugin {
	return weft.Plugin{Name: "ratelimit", Hooks: []any{hook{l}}}
}

// hook is what the server calls.
type hook struct{ l *Limiter }

// BeforeReadRequestBody refuses a call that is beyond a limit.
func (h hook) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	var names [4]keyed.Key
	keys := names[:0]
	for _, limit := range h.l.limits {
		keys = append(keys, limit.By.Of(ctx, info))
	}
	if by, wait := h.l.take(info.Method, keys, received(ctx)); by != nil {
		return weft.Errorf(weft.ResourceExhausted, "more calls than the server takes by %s: %g a second; try again in %v", by.By, by.rate, keyed.Wait(wait)).
			WithReason(Reason).WithRetryAfter(wait)
	}
	return nil
}

// take takes a call that has a key for each limit. It returns the limit for which the call is to wait longest, and how
// long; then the call was not taken. now is when the call was read: calls of several connections do not come in that
// order, and one that was read earlier than another before it is taken as read at the same time.
func (l *Limiter) take(method string, keys []keyed.Key, now time.Duration) (by *limit, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = max(now, l.latest)
	l.latest = now
	var few [4]*time.Duration
	paid := few[:0]
	for i, limit := range l.limits {
		var at *time.Duration
		if limit.Has(method) {
			var wait time.Duration
			if at, wait = limit.waitLocked(keys[i], now); wait > after {
				by, after = limit, wait
			}
		}
		paid = append(paid, at)
	}
	if by != nil {
		return by, after
	}
	for i, at := range paid {
		if at != nil {
			l.limits[i].payLocked(at, now)
		}
	}
	return nil, 0
}

// received is when the request was read, which is when the call was made as far as its server can tell. The server
// knows it: the clock is not read again.
func received(ctx context.Context) time.Duration {
	if c := session.FromContext(ctx); c != nil {
		return time.Duration(c.Received())
	}
	return time.Duration(session.Nanos())
}
