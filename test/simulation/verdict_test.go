package simulation

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/retry"
)

// late is how long after its deadline a call may end. The clock of a simulation stands still
// while anything runs, so this is not for the time that code takes; a context's timer and a
// session's are set at moments that differ.
const late = time.Millisecond

// verdict returns what was wrong.
func (l *ledger) verdict(p *plan, stopped map[string]time.Duration) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]string(nil), l.faults...)
	for _, x := range l.order {
		for _, fault := range []string{x.endOf(), x.runsOf(), x.truthOf(), x.replyOf(), x.deadlineOf(p), x.peaceOf(p, stopped), x.attemptsOf()} {
			if fault != "" {
				out = append(out, fault+": "+x.String())
			}
		}
	}
	return append(out, l.budgets(p)...)
}

// Every call ends.
func (x *entry) endOf() string {
	switch {
	case !x.ended:
		return "the call did not end"
	case x.strange != nil:
		return "the error is not an *Error"
	}
	return ""
}

// A call runs at most once unless it is idempotent.
func (x *entry) runsOf() string {
	if len(x.runs) > 1 && x.kind != repeatable {
		return "the call ran more than once"
	}
	return ""
}

// What the caller was told is true.
func (x *entry) truthOf() string {
	switch ran := len(x.runs) > 0; {
	case !x.ended || x.strange != nil:
		return ""
	case x.err == nil && !ran && (x.kind == once || x.kind == repeatable):
		return "the caller was told of a success, and the call did not run"
	case x.err == nil:
		return ""
	case ran && (x.err.Outcome == weft.NotSent || x.err.Outcome == weft.Refused):
		return "the caller was told that the call did not run, and it ran"
	case !ran && x.err.Outcome == weft.Executed:
		return "the caller was told that the call ran, and it did not"
	}
	return ""
}

// The reply is that of the request.
func (x *entry) replyOf() string {
	r := x.reply
	if r == nil {
		if x.ended && x.err == nil && x.strange == nil && (x.kind == once || x.kind == repeatable) {
			return "a success without a reply"
		}
		return ""
	}
	if r.ID != x.id || !bytes.Equal(r.Pad, pad(x.id, x.plan.Order.Back)) {
		return fmt.Sprintf("the reply is that of call %d, with %d bytes", r.ID, len(r.Pad))
	}
	for _, run := range x.runs {
		if run.host == r.Host {
			return ""
		}
	}
	return fmt.Sprintf("the reply is from %s, where the call did not run", r.Host)
}

// No call takes longer than its deadline and its cancellation allow.
func (x *entry) deadlineOf(p *plan) string {
	allowed := x.plan.Timeout
	if allowed == 0 {
		if x.kind == chat {
			return ""
		}
		allowed = weft.DefaultTimeout
	}
	if c := x.plan.Cancel; c > 0 {
		allowed = min(allowed, c)
	}
	if x.ended && x.took > allowed+late {
		return fmt.Sprintf("the call ended %v after its time", x.took-allowed)
	}
	return ""
}

// Where servers only drain, and the registry only fails, nothing fails but what its caller or its handler
// has ended, and no one-way call is lost.
func (x *entry) peaceOf(p *plan, stopped map[string]time.Duration) string {
	if !p.peaceful() || !x.ended || x.nested {
		return ""
	}
	client, known := p.clientOf(x.caller)
	if known && client.FailMode == cluster.Failfast && client.Direct == "" {
		return ""
	}
	if at, ok := stopped[x.caller]; ok && x.began+x.took >= at {
		return ""
	}
	if x.err == nil {
		if x.kind == note && len(x.runs) != 1 {
			return fmt.Sprintf("a one-way call ran %d times", len(x.runs))
		}
		return ""
	}
	switch {
	case uint16(x.err.Code) == x.plan.Order.Fail && x.err.Outcome == weft.Executed,
		x.plan.Cancel > 0 && x.took >= x.plan.Cancel, // the error may be that of the last attempt
		x.err.Code == weft.DeadlineExceeded,
		// A call that has waited until its deadline for a server that restarts is told why there was none.
		x.plan.Timeout > 0 && x.took >= x.plan.Timeout && x.err.Reason == weft.ReasonNoServer && x.err.Outcome == weft.NotSent,
		x.plan.Order.Nest > 0 && x.err.Outcome == weft.Executed,
		// With Failtry a call does not wait for a server that has left the list and come back since it was reached.
		client.FailMode == cluster.Failtry && x.err.Code == weft.Unavailable && x.err.Outcome == weft.NotSent:
		return ""
	}
	return "a call failed though servers only drained"
}

func (p *plan) clientOf(name string) (clientPlan, bool) {
	for _, c := range p.Clients {
		if c.Name == name {
			return c, true
		}
	}
	return clientPlan{}, false
}

// A call is sent as often as the policy says, and once more for free.
func (x *entry) attemptsOf() string {
	sent := 0
	for _, a := range x.attempts {
		if a.err == nil || a.err.Outcome != weft.NotSent {
			sent++
		}
	}
	if most := retry.DefaultAttempts + 1; sent > most {
		return fmt.Sprintf("the call was sent %d times, at most %d are allowed", sent, most)
	}
	if x.kind == once && sent > 1 {
		for _, a := range x.attempts[:len(x.attempts)-1] {
			if a.err == nil || a.err.Outcome == weft.OutcomeUnknown || a.err.Outcome == weft.Executed {
				return "a call that may have run was made again"
			}
		}
	}
	return ""
}

// hedge reports whether an attempt began beside the one before.
func (x *entry) hedge(i int) bool {
	before := x.attempts[i-1]
	return !before.done || before.ended > x.attempts[i].began
}

// paid counts the attempts that the budget has to pay for.
func (x *entry) paid() int {
	n, free := 0, false
	for i := 1; i < len(x.attempts); i++ {
		before := x.attempts[i-1]
		switch {
		case x.hedge(i):
			n++
		case before.err != nil && before.err.Outcome == weft.NotSent:
		case !free && before.err != nil && (before.err.Outcome == weft.Refused || before.err.Outcome == weft.OutcomeUnknown):
			free = true
		default:
			n++
		}
	}
	return n
}

// The retries of each client stay within its budget.
func (l *ledger) budgets(p *plan) []string {
	var out []string
	for _, c := range p.Clients {
		if c.Direct != "" || !c.Recorded {
			continue
		}
		calls, paid := 0, 0
		last := time.Duration(0)
		for _, x := range l.order {
			if x.caller == c.Name {
				calls++
				paid += x.paid()
				last = max(last, x.began+x.took)
			}
		}
		most := budget.Ratio*float64(calls) + budget.Floor*(last.Seconds()+1) + 1
		if float64(paid) > most {
			out = append(out, fmt.Sprintf("%s made %d paid retries of %d calls in %v, %.1f are allowed", c.Name, paid, calls, last, most))
		}
	}
	return out
}
