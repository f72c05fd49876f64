// Package retry decides whether a failed attempt of a call is followed by
// another one, and pays for it.
//
// A [Policy] is asked after each failed attempt, and says from how far the
// attempt got ([weft.Outcome]) what is safe:
//
//	NotSent    nothing left this process: again, for any method, for free
//	Refused    the handler did not run: once at once elsewhere, for free; then by policy
//	Unknown    the handler may have run, so only if the method is idempotent: once at once
//	           elsewhere, for free, if the connection was lost; then by policy
//	Executed   the handler answered so: by policy, if the method is idempotent
//	           and the code is one of the policy's; not when a handler passes on that
//	           its own call was refused for overload; and once at once elsewhere, for free,
//	           if the server has shut down and cut the call off
//
// "By policy" means: within [Policy.Attempts], after a backoff with full jitter
// or after the time the server asked for, and paid from a [Budget] that all calls
// of a client share. The budget is what keeps retries from becoming the load that
// brings the last healthy server down: it gets a tenth of a retry for every call.
// So however much fails, calls and retries together are at most 1.1 times the
// calls, and three a second.
//
// Nothing here reads a clock or a random source: both come with the question, so
// equal questions get equal answers.
package retry

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// The defaults of a Policy.
const (
	DefaultAttempts   = 3
	DefaultBackoff    = 20 * time.Millisecond
	DefaultMaxBackoff = time.Second
)

const (
	// prompt is how many attempts that did not leave this process are followed by
	// the next one at once: there is probably another server to send to.
	prompt = 3

	// patience is how many times Policy.Attempts a call that is never sent is tried.
	// With the defaults that takes about ten seconds, as long as a call without a
	// deadline of its own lasts, so the deadline mostly comes first. The bound is for
	// calls that have none.
	patience = 8
)

// Forever is the [Attempt.Left] of a call without a deadline.
const Forever = time.Duration(math.MaxInt64)

// Policy says how often, when and after which errors of a handler a call is made
// again. A zero field means its default. It must not change while it is used; any
// number of goroutines may use it at the same time.
type Policy struct {
	// Attempts is how often a call is sent at most, the first time included. 0: 3.
	// Attempts that did not leave this process do not count, nor does the one that is
	// sent again for free after a refusal or a lost connection; so 1 leaves what is safe
	// for every call.
	Attempts int

	// Backoff is the longest wait before the second attempt. It doubles with each
	// attempt up to MaxBackoff, and the wait is a random part of it from nothing to
	// all, which spreads callers that failed together best (Brooker: Exponential
	// Backoff And Jitter, AWS Architecture Blog 2015). 0: 20 ms, and 1 s.
	Backoff, MaxBackoff time.Duration

	// Codes are the errors of a handler after which an idempotent call is made again.
	// nil: Unavailable, and ResourceExhausted when the server says when to come back and
	// the handler has not passed on that a server refused its own call for overload: its
	// client has tried what can be tried. An empty list that is not nil: none.
	Codes []weft.Code
}

// Check tells what is wrong with a policy.
func (p *Policy) Check() error {
	wrong := func(format string, args ...any) error {
		return weft.Errorf(weft.InvalidArgument, "retry: "+format, args...)
	}
	switch {
	case p.Attempts < 0:
		return wrong("Policy.Attempts is %d, want 1 or more, or 0 for %d", p.Attempts, DefaultAttempts)
	case p.Backoff < 0:
		return wrong("Policy.Backoff is %v, want more than 0, or 0 for %v", p.Backoff, DefaultBackoff)
	case p.MaxBackoff < 0:
		return wrong("Policy.MaxBackoff is %v, want more than 0, or 0 for %v", p.MaxBackoff, DefaultMaxBackoff)
	case p.longest() < p.first():
		return wrong("Policy.MaxBackoff, %v, is shorter than Policy.Backoff, %v", p.longest(), p.first())
	}
	for _, c := range p.Codes {
		switch {
		case c < weft.Canceled || c > weft.Unauthenticated:
			return wrong("Policy.Codes has %v, which is no code of an error", c)
		case c == weft.Canceled:
			return wrong("Policy.Codes has Canceled, which says that the caller no longer wants the call")
		}
	}
	return nil
}

func (p *Policy) attempts() int {
	if p.Attempts == 0 {
		return DefaultAttempts
	}
	return p.Attempts
}

func (p *Policy) first() time.Duration {
	if p.Backoff == 0 {
		return DefaultBackoff
	}
	return p.Backoff
}

func (p *Policy) longest() time.Duration {
	if p.MaxBackoff == 0 {
		return DefaultMaxBackoff
	}
	return p.MaxBackoff
}

// Attempt is an attempt that failed, and what matters of the call it belongs to.
type Attempt struct {
	Number     int         // 1 is the first
	Unsent     int         // how many attempts up to this one were NotSent
	Err        *weft.Error // why this one failed
	Idempotent bool        // the method may run more than once
	Answered   bool        // the call is a stream whose first message has arrived
	Resent     bool        // a decision with Free was followed before

	// Left is the time until the deadline of the call, Forever if it has none. At 0
	// and below it has passed.
	Left time.Duration

	// Upstream is how many attempts came before the call in whose handler this one
	// is made. Above 0 a caller further up is retrying already, and if every layer
	// did, the load on the lowest would multiply; so nothing but attempts that were
	// not sent is tried again here.
	Upstream int

	// Random holds 64 random bits, fresh for each attempt.
	Random uint64
}

// Decision is what to do after a failed attempt.
type Decision struct {
	Again     bool          // make another attempt
	After     time.Duration // but not before this time has passed; less than what was left
	Paid      bool          // and not unless Budget.Withdraw agrees
	Free      bool          // it is the one that is sent again for free: set Attempt.Resent from now on
	Elsewhere bool          // on a server that the call has not tried, if there is one; otherwise on any
	Why       string        // one of a few constant sentences, for explanations
}

// Decide says whether a failed attempt is followed by another. It allocates
// nothing.
func (p *Policy) Decide(a Attempt) Decision {
	if why := over(&a); why != "" {
		return Decision{Why: why}
	}
	var d Decision
	switch a.Err.Outcome {
	case weft.NotSent:
		d = p.notSent(&a)
	case weft.Refused:
		d = p.refused(&a)
	case weft.Executed:
		d = p.executed(&a)
	default:
		d = p.unknown(&a)
	}
	if d.Again && d.After >= a.Left {
		return Decision{Why: "the deadline passes before the next attempt could begin"}
	}
	return d
}

// over says why a call is at its end, whatever its outcome.
func over(a *Attempt) string {
	switch {
	case a.Err == nil:
		return "the attempt has not failed"
	case a.Left <= 0:
		return "the deadline has passed"
	case a.Err.Code == weft.Canceled && a.Err.Outcome != weft.Executed:
		return "the caller has cancelled the call"
	case a.Answered:
		return "a message of the stream has arrived already"
	}
	if wait, ok := a.Err.RetryAfter(); ok && wait < 0 {
		return "the server asks not to try again"
	}
	return ""
}

// notSent is never paid for: what did not leave this process burdens no server.
func (p *Policy) notSent(a *Attempt) Decision {
	unsent := a.Unsent
	if unsent == 0 {
		unsent = a.Number
	}
	switch {
	case a.Err.Reason == weft.ReasonForbidden:
		// Rules change when an operator changes them, so waiting does not help.
		return Decision{Why: "not sent: the rules forbid it"}
	case a.Err.Reason == weft.ReasonThrottled:
		return Decision{Why: "not sent: the servers refuse many calls for overload"}
	case !passing(a.Err):
		return Decision{Why: "not sent, for a reason that every server shares"}
	case unsent >= patience*p.attempts():
		return Decision{Why: "not sent, too often"}
	case unsent <= prompt:
		return Decision{Again: true, Elsewhere: true, Why: "not sent: at once elsewhere"}
	case a.Err.Reason == weft.ReasonBreakerOpen:
		// Breakers are there so that callers need not wait for what is broken.
		return Decision{Why: "not sent: the breakers of the servers are open"}
	}
	// By now no server may be left that the call has not tried.
	return Decision{Again: true, After: p.backoff(unsent-prompt-1, a.Random), Why: "not sent: again after a backoff"}
}

func (p *Policy) refused(a *Attempt) Decision {
	switch {
	case a.Upstream > 0:
		return Decision{Why: "refused, and the caller of this caller retries"}
	case !passing(a.Err):
		return Decision{Why: "refused, for a reason that every server shares"}
	}
	// A server that leaves refuses the calls that were sent before its GOAWAY arrived:
	// another one has room for them. Refusals for too much work are a different thing: when all are
	// overloaded, a free second attempt for each call would double the load.
	_, told := a.Err.RetryAfter()
	if p.mayResend(a) && !told && a.Err.Code != weft.ResourceExhausted {
		return Decision{Again: true, Free: true, Elsewhere: true, Why: "refused: once at once elsewhere"}
	}
	return p.byPolicy(a, "refused: again by policy")
}

// mayResend reports whether the call may still be sent again for free.
func (p *Policy) mayResend(a *Attempt) bool { return !a.Resent && a.Number-a.Unsent <= p.attempts() }

func (p *Policy) unknown(a *Attempt) Decision {
	switch {
	case !a.Idempotent:
		return Decision{Why: "the handler may have run, and the method is not idempotent"}
	case a.Upstream > 0:
		return Decision{Why: "no answer, and the caller of this caller retries"}
	case !passing(a.Err) && a.Err.Code != weft.DataLoss:
		return Decision{Why: "no answer, for a reason that every server shares"}
	case a.Err.Code == weft.Unavailable && p.mayResend(a):
		// The connection was lost, which is one event for all calls on it: it must not
		// use up a budget that is made for single calls.
		return Decision{Again: true, Free: true, Elsewhere: true, Why: "the connection was lost: once at once elsewhere"}
	}
	return p.byPolicy(a, "no answer: again by policy, the method being idempotent")
}

func (p *Policy) executed(a *Attempt) Decision {
	switch {
	case !p.retries(a.Err):
		return Decision{Why: "the handler's own answer"}
	case !a.Idempotent:
		return Decision{Why: "the handler ran, and the method is not idempotent"}
	case a.Upstream > 0:
		return Decision{Why: "the handler failed, and the caller of this caller retries"}
	case a.Err.Code == weft.Unavailable && a.Err.Reason == weft.ReasonShutdown && p.mayResend(a):
		// A server cuts off all its calls when its time to shut down is up. That is one event, too.
		return Decision{Again: true, Free: true, Elsewhere: true, Why: "cut off by a shutdown: once at once elsewhere"}
	}
	return p.byPolicy(a, "the handler failed: again by policy, the method being idempotent")
}

// retries reports whether a handler's error is one to try again after.
func (p *Policy) retries(e *weft.Error) bool {
	if p.Codes != nil {
		return slices.Contains(p.Codes, e.Code)
	}
	_, told := e.RetryAfter()
	return e.Code == weft.Unavailable || e.Code == weft.ResourceExhausted && told && !ofOverload(e)
}

// passing reports whether a failure before the handler may be gone a moment later or
// on another server. DeadlineExceeded is the time of one attempt: that of the call
// is known to be left.
func passing(e *weft.Error) bool {
	switch e.Code {
	case weft.Unavailable, weft.DeadlineExceeded:
		return true
	case weft.ResourceExhausted:
		return !strings.HasSuffix(e.Reason, "_TOO_LARGE") // what is too large stays so
	}
	return false
}

// byPolicy is another attempt within the number allowed, paid for, and not before
// the server wants it.
func (p *Policy) byPolicy(a *Attempt, why string) Decision {
	sent := a.Number - a.Unsent
	if a.Resent {
		sent--
	}
	if sent >= p.attempts() {
		return Decision{Why: "the policy allows no more attempts"}
	}
	after := p.backoff(sent-1, a.Random)
	if wait, ok := a.Err.RetryAfter(); ok && (sent > 1 || !Overload(a.Err)) {
		if wait >= a.Left {
			return Decision{Why: "the server asks for more time than is left"}
		}
		// Callers that are told the same time must not come back in the same moment.
		after = wait + min(p.backoff(0, a.Random), a.Left-wait-1)
	}
	return Decision{Again: true, After: after, Paid: true, Elsewhere: true, Why: why}
}

// Overload reports whether a server has refused a call since it, or the method, has more calls
// than it can answer in time. Another server may have room: the first further attempt does
// not wait for the time that this one asks for.
func Overload(e *weft.Error) bool { return e.Outcome == weft.Refused && ofOverload(e) }

// ofOverload reports whether an error is, or was where a handler got it, a refusal for overload.
func ofOverload(e *weft.Error) bool {
	switch e.Reason {
	case weft.ReasonOverloadWait, weft.ReasonOverloadDeadline, weft.ReasonOverloadMethod:
		return true
	}
	return false
}

// backoff is a random part of the step's longest wait; the first step is 0.
func (p *Policy) backoff(step int, random uint64) time.Duration {
	most := p.longest()
	if step = max(step, 0); step < 63 && p.first() <= most>>step {
		most = p.first() << step
	}
	part, _ := bits.Mul64(random, uint64(most)+1)
	return time.Duration(part)
}

// Hedge says whether a call gets a second attempt beside its first, which a is and
// which still runs, if no answer has come after delay: the time within which the method
// usually answers, such as its 95th percentile, or 0 if that is not known yet. The first
// answer of the two counts, and the other attempt is canceled. A hedge cuts the longest
// latencies at the price of a few more calls (Dean, Barroso: The Tail at Scale, CACM
// 2013). Both handlers may run to the end, so only idempotent calls get one, and it is
// paid for like a retry. Err and Random of a are not read.
func (p *Policy) Hedge(a Attempt, delay time.Duration) Decision {
	switch {
	case !a.Idempotent:
		return Decision{Why: "no hedge: the method is not idempotent"}
	case a.Number > 1:
		return Decision{Why: "no hedge: only the first attempt gets one"}
	case p.attempts() < 2:
		return Decision{Why: "no hedge: the policy allows one attempt"}
	case a.Answered:
		return Decision{Why: "no hedge: a message of the stream has arrived already"}
	case a.Upstream > 0:
		return Decision{Why: "no hedge: the caller of this caller retries"}
	case delay <= 0:
		return Decision{Why: "no hedge: it is not known yet how long the method takes"}
	case delay >= a.Left:
		return Decision{Why: "no hedge: the deadline passes before it could begin"}
	}
	return Decision{Again: true, After: delay, Paid: true, Elsewhere: true, Why: "hedge: no answer within the usual time"}
}
