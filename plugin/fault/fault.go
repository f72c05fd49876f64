// Package fault makes calls slow or fail on purpose, to try how a system takes it. It does nothing
// until rules are set, and they can be replaced while the program runs.
//
//	f, err := fault.New()
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{f.Plugin()}})
//	err = f.Set(fault.Rule{Methods: []string{"Orders.*"}, Percent: 5, Delay: 300 * time.Millisecond})
//
// The errors have the reason FAULT_INJECTED, so that traces, logs and metrics tell them from others.
package fault

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Reason is the Error.Reason of a call that failed on purpose.
const Reason = "FAULT_INJECTED"

// Rule says which calls get a fault, and which.
type Rule struct {
	Methods []string // "Arith.Mul", "Arith.*", "*"; nil: all
	Percent float64  // of the calls, above 0 to 100
	// When says more about which calls; nil: all. It may be called concurrently.
	When func(ctx context.Context, info *weft.CallInfo) bool
	// Delay is the time that a call waits first, within its deadline.
	Delay time.Duration
	// Code is what the call then fails with, before its handler runs, or before it is sent; 0: it
	// goes on.
	Code weft.Code
	// Outcome is that of the error on a client; on a server it is Executed, as of every error of an interceptor.
	// OutcomeUnknown, its zero value, makes retries careful.
	Outcome weft.Outcome
}

// Injector holds the rules. Its methods may be called from any goroutine.
type Injector struct{ rules atomic.Pointer[[]Rule] }

// New makes an Injector with rules; the first that fits a call counts.
func New(rules ...Rule) (*Injector, error) {
	f := &Injector{}
	return f, f.Set(rules...)
}

// Set replaces the rules; without any, no call gets a fault. After an error the old ones stay.
func (f *Injector) Set(rules ...Rule) error {
	for i, r := range rules {
		if err := match.Methods(r.Methods).Check(); err != nil {
			return weft.Errorf(weft.InvalidArgument, "fault: rule %d: %w", i, err)
		}
		switch {
		case !(r.Percent > 0 && r.Percent <= 100):
			return weft.Errorf(weft.InvalidArgument, "fault: rule %d: Percent is %v, want more than 0, to 100; to end faults leave the rule out", i, r.Percent)
		case r.Delay < 0 || r.Code > weft.Unauthenticated || r.Outcome > weft.Executed:
			return weft.Errorf(weft.InvalidArgument, "fault: rule %d: Delay is %v, Code %v, Outcome %v: one of them is out of range", i, r.Delay, r.Code, r.Outcome)
		case r.Delay == 0 && r.Code == 0:
			return weft.Errorf(weft.InvalidArgument, "fault: rule %d has neither Delay nor Code", i)
		}
	}
	if len(rules) == 0 {
		f.rules.Store(nil)
		return nil
	}
	own := slices.Clone(rules)
	f.rules.Store(&own)
	return nil
}

// Plugin is for servers and clients.
func (f *Injector) Plugin() weft.Plugin {
	return weft.Plugin{Name: "fault", Server: f.unary, ServerStream: f.serveStream, Client: f.unary, ClientStream: f.open}
}

func (f *Injector) unary(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if err := f.inject(ctx, info); err != nil {
		return nil, err
	}
	return next(ctx, info, req)
}

func (f *Injector) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	if err := f.inject(ctx, info); err != nil {
		return err
	}
	return next(ctx, info, stream)
}

func (f *Injector) open(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	if err := f.inject(ctx, info); err != nil {
		return nil, err
	}
	return next(ctx, info)
}

// inject delays a call, or fails it.
func (f *Injector) inject(ctx context.Context, info *weft.CallInfo) error {
	rules := f.rules.Load()
	if rules == nil {
		return nil
	}
	for i := range *rules {
		r := &(*rules)[i]
		if !match.Methods(r.Methods).Has(info.Method) || r.When != nil && !r.When(ctx, info) {
			continue
		}
		if rand.Float64()*100 >= r.Percent {
			return nil
		}
		return r.apply(ctx, info)
	}
	return nil
}

func (r *Rule) apply(ctx context.Context, info *weft.CallInfo) error {
	if r.Delay > 0 {
		timer := time.NewTimer(r.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return r.failure(weft.CodeOf(ctx.Err()), "the call ended during a delay that was injected", info)
		}
	}
	if r.Code == 0 {
		return nil
	}
	return r.failure(r.Code, "this error was injected", info)
}

func (r *Rule) failure(code weft.Code, message string, info *weft.CallInfo) error {
	return &weft.Error{Code: code, Outcome: r.Outcome, Reason: Reason, Message: message, Method: info.Method}
}
