// Package reserve keeps a part of each call's time for what comes behind its handler: the reply, and
// what the caller does with it. It ends the context of a handler, and with it the calls that the
// handler makes, before the deadline of the caller, so that an error or a part of an answer still
// arrives. A call that has too little time to be finished is refused before its request is decoded.
//
//	r, err := reserve.New(&reserve.Config{Percent: 10, AtLeast: 5 * time.Millisecond, Learn: true})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
package reserve

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Reason is the Error.Reason of a call that has too little time.
const Reason = "DEADLINE_TOO_SHORT"

// Config configures a Reserve.
type Config struct {
	// Percent is how much of the time that a call has left is kept, from 0 to 90.
	Percent float64
	// AtLeast and AtMost bound what is kept. AtMost 0: a second.
	AtLeast, AtMost time.Duration
	// Methods are those that it is for: "Arith.Mul", "Arith.*", "*". nil: all. Calls without a
	// deadline are left alone.
	Methods []string
	// Needs is the time that the handler of a method needs at least; a call that has less, apart from
	// what is kept, is refused.
	Needs map[string]time.Duration
	// Learn finds out such times: a call is refused when it has less time than all but the fastest tenth of the calls of the
	// method took that went well of late. It refuses no call of a method before 100 went well. One of 32 calls is let through
	// nevertheless, so that it notices when the method becomes faster.
	Learn bool
}

// DefaultAtMost is how much is kept at most.
const DefaultAtMost = time.Second

// Reserve keeps a part of the time of calls. Its methods may be called from any goroutine.
type Reserve struct {
	cfg     Config
	learned *learned // nil: Learn is not set
}

// New makes a Reserve.
func New(cfg *Config) (*Reserve, error) {
	r := &Reserve{}
	if cfg != nil {
		r.cfg = *cfg
	}
	c := &r.cfg
	if c.AtMost == 0 {
		c.AtMost = max(DefaultAtMost, c.AtLeast)
	}
	wrong := func(format string, args ...any) (*Reserve, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "reserve: Config."+format, args...)
	}
	switch {
	case !(c.Percent >= 0 && c.Percent <= 90):
		return wrong("Percent is %v, want 0 to 90", c.Percent)
	case c.AtLeast < 0 || c.AtMost < c.AtLeast:
		return wrong("AtLeast is %v and AtMost %v, want 0 or more, and AtMost not below AtLeast", c.AtLeast, c.AtMost)
	case c.Percent == 0 && c.AtLeast == 0 && len(c.Needs) == 0 && !c.Learn:
		return wrong("Percent, AtLeast, Needs and Learn are all empty: there is nothing to do")
	}
	if err := match.Methods(c.Methods).Check(); err != nil {
		return wrong("Methods: %w", err)
	}
	for method, d := range c.Needs {
		if d <= 0 {
			return wrong("Needs[%q] is %v, want more than 0", method, d)
		}
	}
	c.Methods, c.Needs = slices.Clone(c.Methods), maps.Clone(c.Needs)
	if c.Learn {
		r.learned = newLearned()
	}
	return r, nil
}

// Plugin is for the Plugins of a server.
func (r *Reserve) Plugin() weft.Plugin {
	return weft.Plugin{Name: "reserve", Server: r.unary, ServerStream: r.stream, Hooks: []any{hook{r}}}
}

// kept is how much of the time that is left is kept.
func (r *Reserve) kept(left time.Duration) time.Duration {
	return min(max(time.Duration(float64(left)*r.cfg.Percent/100), r.cfg.AtLeast), r.cfg.AtMost)
}

// timeOf is how much time a call has left that the Reserve is for, until when, and what is kept of it; ok is false for
// the other calls, which are left alone.
func (r *Reserve) timeOf(ctx context.Context, method string, now time.Time) (left, kept time.Duration, until time.Time, ok bool) {
	if until, ok = ctx.Deadline(); !ok || len(r.cfg.Methods) > 0 && !match.Methods(r.cfg.Methods).Has(method) {
		return 0, 0, until, false
	}
	left = until.Sub(now)
	return left, r.kept(left), until, true
}

// shorten returns a context with what the handler has of its time; nil: that of the call.
func (r *Reserve) shorten(ctx context.Context, method string, now time.Time) *shorter {
	_, kept, until, ok := r.timeOf(ctx, method, now)
	if !ok || kept <= 0 {
		return nil
	}
	return &shorter{Context: ctx, until: until.Add(-kept)}
}

func (r *Reserve) unary(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	began := time.Now()
	if s := r.shorten(ctx, info.Method, began); s != nil {
		ctx = s
		defer s.end()
	}
	reply, err := next(ctx, info, req)
	if err == nil && r.learned != nil {
		r.learned.took(info.Method, time.Since(began))
	}
	return reply, err
}

func (r *Reserve) stream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	if s := r.shorten(ctx, info.Method, time.Now()); s != nil {
		ctx = s
		defer s.end()
	}
	return next(ctx, info, stream)
}

// hook is what the server calls.
type hook struct{ r *Reserve }

// BeforeReadRequestBody refuses a call that cannot be finished in its time.
func (h hook) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	r := h.r
	left, kept, _, ok := r.timeOf(ctx, info.Method, time.Now())
	if !ok {
		return nil
	}
	usable := left - kept
	need := r.cfg.Needs[info.Method]
	if usable > 0 && usable >= need && (info.Stream || r.learned == nil || r.learned.enough(info.Method, usable)) {
		return nil
	}
	return weft.Errorf(weft.DeadlineExceeded, "the call has %v left, which is not enough for %s", max(left, 0).Round(time.Microsecond), info.Method).
		WithReason(Reason).WithRetryAfter(-1)
}
