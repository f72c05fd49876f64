package weft

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/overload"
	"github.com/weftrpc/weft/internal/session"
)

// Overload configures how a server protects itself against more calls than it can answer in time. Without that a server under twice the
// load that it can bear answers hardly a call before its caller has given up.
//
// The protection refuses calls when calls wait too long for a processor, when more calls of a method are in flight than can be answered in
// half of the time that they have, and when fewer calls of a method in flight are found to give as many answers. Calls that are answered in
// time are not refused, however many they are. A call is refused before its body is looked at, with Outcome Refused, code
// ResourceExhausted, a time after which to try again, and ReasonOverloadWait, ReasonOverloadDeadline or ReasonOverloadMethod.
//
// Methods that are so short that they run on the goroutine that reads their connection, and what is no call, such as pings, are never
// refused. Streams count while they are opened.
type Overload struct {
	// Off takes every call that Limits allow.
	Off bool
	// MaxInFlight is how many calls may wait or run at once, over all connections; critical
	// ones may be a third more. 0: no number but what the protection finds out.
	MaxInFlight int
	// MayBeCritical tells whether the calls of a client may have PriorityCritical; those of others get PriorityDefault. It is called once
	// for each connection, after AuthenticateConn. nil: all may on a server without authentication; otherwise those may for whose
	// connection AuthenticateConn has returned a principal.
	MayBeCritical func(p *Peer) bool
}

// overloadPause is what callers are told to wait, a window of the controller.
const overloadPause = 100 * time.Millisecond

// protection is the overload protection of a server.
type protection struct {
	c       *overload.Controller
	watcher *overload.Watcher
	fixed   bool                                // MaxInFlight was set
	refused [overload.Verdicts]*session.Refusal // by verdict, for weft's own wire
	errs    [overload.Verdicts]*Error           // the same for doors
}

// newProtection returns that of a server, nil if it is off.
func newProtection(s *Server) (*protection, error) {
	cfg := s.cfg.Overload
	if cfg.MaxInFlight < 0 {
		return nil, Errorf(InvalidArgument, "weft: Overload.MaxInFlight is %d, want 0 (no number) or more", cfg.MaxInFlight)
	}
	if cfg.Off {
		return nil, nil
	}
	p := &protection{c: overload.New(cfg.MaxInFlight, runtime.GOMAXPROCS(0)), fixed: cfg.MaxInFlight > 0}
	p.watcher, s.exec.Scarce, s.exec.Beyond = p.c.Watch(session.Nanos), p.c.Scarce, p.c.Beyond
	for v, e := range map[overload.Verdict]*Error{
		overload.Waits:     {Reason: ReasonOverloadWait, Message: "the server is overloaded: calls wait too long for a processor"},
		overload.TooLate:   {Reason: ReasonOverloadDeadline, Message: "the server is overloaded: the call would be answered too late"},
		overload.Full:      {Reason: ReasonOverloadMethod, Message: "as many calls of the method are in flight as the server can use"},
		overload.FullFixed: {Reason: ReasonOverloadMethod, Message: "as many calls of the method are in flight as its MethodLimit on the server allows"},
		overload.Most:      {Reason: ReasonOverloadWait, Message: "as many calls are in flight as Overload.MaxInFlight of the server allows"},
	} {
		e.Code, e.Outcome = ResourceExhausted, Refused
		p.errs[v] = e.WithRetryAfter(overloadPause)
		p.refused[v] = session.NewRefusal(*toStatus(p.errs[v]))
	}
	s.exec.Displaced = p.refused[overload.Waits]
	return p, nil
}

// mayBeCritical tells whether calls of a connection may be critical that was authenticated.
func mayBeCritical(c *ServerConfig, f *fence.Fence, p *Peer) bool {
	switch {
	case c.Overload.Off:
		return true // nothing is refused for it, and it is only passed on
	case c.Overload.MayBeCritical != nil:
		yes := false
		f.Run("MayBeCritical", p.Addr(), func() { yes = c.Overload.MayBeCritical(p) })
		return yes
	case c.Authenticate == nil && c.AuthenticateConn == nil:
		return true
	}
	return p.principal != nil
}

// method returns the state of a method, nil for one that is not limited.
func (p *protection) method(m *method) *overload.Method {
	if p == nil || m.facts.limit == Unlimited {
		return nil
	}
	return p.c.Method(m.name, m.facts.limit)
}

// limit has the calls of a method of weft's own wire pass the protection.
func (e *endpoint) limit(m *session.Method) {
	if e.load != nil {
		m.Gate, m.Apart = e, e.m.facts.limit > 0
	}
}

// stop ends the look at the queue. A nil protection is ignored.
func (p *protection) stop() {
	if p != nil {
		p.watcher.Stop()
	}
}

// admit decides over a call.
func (e *endpoint) admit(c *session.Context) overload.Verdict {
	e.h.overload.watcher.Begin()
	budget := c.Budget()
	if budget == 0 {
		budget = overload.NoBudget
	}
	class := overload.Class(grantedPriority(c))
	c.Urgent = class == overload.Critical
	return e.load.Admit(c.Received(), budget, class)
}

// Admit is that of session.Gate.
func (e *endpoint) Admit(c *session.Context) *session.Refusal {
	return e.h.overload.refused[e.admit(c)] // nil for Admitted
}

// Dropped is that of session.Gate.
func (e *endpoint) Dropped(*session.Context) { e.load.Dropped(session.Nanos()) }

// begin notes that the handler of a call starts that was admitted, and returns when.
func (e *endpoint) begin(r *session.Request) (from int64) {
	if from = r.Started; from == 0 {
		from = session.Nanos()
	}
	e.started(r.Ctx, from, r.Ctx.Stream() != nil)
	return from
}

// started notes that the handler of a call starts.
func (e *endpoint) started(c *session.Context, now int64, stream bool) {
	switch budget := c.Budget(); {
	case stream:
		e.load.Opened(c.Received(), now)
	case budget == 0:
		e.load.Started(c.Received(), now, overload.NoBudget)
	default:
		e.load.Started(c.Received(), now, budget)
	}
}

// over notes the end of a call of weft's own wire that began at from and ended with err.
func (e *endpoint) over(r *session.Request, from int64, err error) {
	if r.Ctx.Stream() != nil {
		return // it counted while it was opened
	}
	to := r.Ended
	if to == 0 {
		to = session.Nanos()
	}
	e.ended(r.Refused() || gaveUp(r.Ctx, err), from, to)
}

// gaveUp tells whether a handler has given up since its context has ended: the work was not done.
func gaveUp(c *session.Context, err error) bool {
	if err == nil {
		return false
	}
	code := CodeOf(err)
	return (code == DeadlineExceeded || code == Canceled) && c.Ended()
}

// ended notes the end of a call that ran between two times. One that was refused has not reached its
// handler. It, and one whose handler has given up, say nothing of what the method can do.
func (e *endpoint) ended(nothing bool, from, to int64) {
	if nothing {
		e.load.Dropped(to)
	} else {
		e.load.Ended(to, to-from)
	}
}

// OverloadStats are the state of a server's overload protection.
type OverloadStats struct {
	On        bool
	Limit     int                // calls that may wait and run at once; 0: any number
	InFlight  int                // calls that wait and run now, those on the goroutines of readers aside
	Wait      float64            // of the promptest calls for a processor: above 1 is too long
	Methods   []MethodLoad       // of which calls are in flight, or limited, by name
	Decisions []OverloadDecision // the last ones, the latest first
}

// MethodLoad is what the overload protection knows of a method.
type MethodLoad struct {
	Method   string
	InFlight int
	Limit    int           // of the calls in flight; 0: none
	Rate     float64       // calls that end in a second, while calls queue; 0: not known
	Time     time.Duration // that the handler takes now; 0: not known
	Least    time.Duration // that it took in the last minute
	Mode     string        // "open", "settling", "counting" or "limited"
}

// OverloadDecision is something that the overload protection has decided.
type OverloadDecision struct {
	At     time.Time
	Method string // "": it is about the whole server
	Text   string // what, and why
}

// overloadStats returns the state of the overload protection.
func (h *host) overloadStats() OverloadStats {
	if h.overload == nil {
		return OverloadStats{}
	}
	now, at := session.Nanos(), time.Now()
	s := h.overload.c.State(now)
	out := OverloadStats{On: true, InFlight: int(s.InFlight), Wait: s.Prompt}
	if s.Limit < s.Most || h.overload.fixed {
		out.Limit = int(s.Limit)
	}
	for _, d := range s.Decisions {
		out.Decisions = append(out.Decisions, OverloadDecision{at.Add(time.Duration(d.At - now)), d.Method, d.String()})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for m, e := range h.endpoints {
		if e.load == nil {
			continue
		}
		if s := e.load.State(now); s.InFlight > 0 || s.Limit > 0 || s.Mode != overload.Open {
			out.Methods = append(out.Methods, MethodLoad{m.name, int(s.InFlight), int(s.Limit), s.Rate, time.Duration(s.Time), time.Duration(s.Least), s.Mode.String()})
		}
	}
	slices.SortFunc(out.Methods, func(a, b MethodLoad) int { return cmp.Compare(a.Method, b.Method) })
	return out
}

// refuse refuses a call of a door that the protection does not admit.
func (p *protection) refuse(v overload.Verdict, h *host, in Inbound) {
	e := p.errs[v]
	h.countRefused(e.Code, e.Reason)
	in.Fail(e, Metadata{})
}
