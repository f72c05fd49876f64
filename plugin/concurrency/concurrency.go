// Package concurrency bounds how many calls are in flight at once: all, by service, method, principal
// or address. A call beyond a limit is refused before its request is decoded, with ResourceExhausted.
//
//	l, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{
//		{By: concurrency.Principal, Calls: 50},
//		{By: concurrency.Address, Calls: 200, Methods: []string{"Reports.*"}},
//	}})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{l.Plugin()}})
//
// It shares a server out among its callers. How many calls the server can answer at all is found out
// by its own overload protection, see weft.Overload, and the limit of a method whose limit is known is
// weft.MethodLimit.
package concurrency

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// Reason is the Error.Reason of a call that is beyond a limit.
const Reason = "TOO_MANY_CALLS_IN_FLIGHT"

// By says what has a limit of its own.
type By = keyed.By

// What can have a limit of its own.
const (
	Server    = keyed.Server    // all calls together
	Service   = keyed.Service   // the calls of each service
	Method    = keyed.Method    // the calls of each method
	Principal = keyed.Principal // the calls of each principal; those without a name together
	Address   = keyed.Address   // the calls from each IP address, whatever the port; of IPv6 from each /64
)

// Limit is one limit. A call is counted against every limit that it fits, a stream from its beginning
// to its end.
type Limit struct {
	By      By       // what has this limit of its own
	Calls   int      // in flight at once
	Methods []string // "Arith.Mul", "Arith.*", "*"; nil: all
}

// DefaultMaxKeys is how many principals, addresses and so on each limit tells apart.
const DefaultMaxKeys = keyed.DefaultMaxKeys

// Config configures a Limiter.
type Config struct {
	// Limits must not be empty.
	Limits []Limit
	// MaxKeys is how many keys each limit tells apart. One without calls in flight makes room; the
	// calls of further keys share one limit. 0: DefaultMaxKeys.
	MaxKeys int
	// OwnServices counts calls of the services that weft registers for operators and tools too: health,
	// administration, reflection. Otherwise they are counted by a limit alone whose Methods name them or
	// their service, so that a caller that has used up what it may call can still be probed and looked at.
	OwnServices bool
}

// Limiter holds limits. Its methods may be called from any goroutine.
type Limiter struct{ calls *calls }

// New makes a Limiter.
func New(cfg *Config) (*Limiter, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	shared := keyed.Config{Plugin: "concurrency", List: "Limits", Entries: len(cfg.Limits), MaxKeys: cfg.MaxKeys, OwnServices: cfg.OwnServices}
	keys, err := shared.Keys()
	if err != nil {
		return nil, err
	}
	l := &Limiter{calls: newCalls()}
	for i, c := range cfg.Limits {
		scope, err := shared.Scope(i, c.By, c.Methods)
		switch {
		case err != nil:
			return nil, err
		case c.Calls < 1:
			return nil, shared.Wrong(i, "Calls is %d, want 1 or more", c.Calls)
		}
		l.calls.limits = append(l.calls.limits, &limit{Scope: scope, most: c.Calls, keys: keyed.New[keyed.Key, count](keys)})
	}
	return l, nil
}

// Plugin is for the Plugins of a server.
func (l *Limiter) Plugin() weft.Plugin {
	return weft.Plugin{Name: "concurrency", Hooks: []any{hooks{l.calls}}, Server: l.unary, ServerStream: l.stream}
}

// InFlight is how many calls are counted against the limits of a kind, together.
func (l *Limiter) InFlight(by By) int { return l.calls.inFlight(by) }

func (l *Limiter) unary(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	defer l.calls.leave(l.calls.begin(ctx))
	return next(ctx, info, req)
}

func (l *Limiter) stream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	defer l.calls.leave(l.calls.begin(ctx))
	return next(ctx, info, stream)
}

// hooks are what the server calls.
type hooks struct{ calls *calls }

// BeforeReadRequestBody refuses a call that is beyond a limit.
func (h hooks) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	if full := h.calls.enter(ctx, info); full != nil {
		return weft.Errorf(weft.ResourceExhausted, "more calls in flight than the server takes by %s: %d; try again when one of them has ended", full.By, full.most).WithReason(Reason)
	}
	return nil
}

// AfterReadRequestBody ends the counting of a call whose request could not be decoded.
func (h hooks) AfterReadRequestBody(ctx context.Context, _ *weft.CallInfo, _ any, err error) {
	if err != nil {
		h.calls.leave(h.calls.begin(ctx))
	}
}
