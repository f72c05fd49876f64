package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	ms  = time.Millisecond
	all = math.MaxUint64 // random bits that give the longest wait
)

func failure(code weft.Code, outcome weft.Outcome) *weft.Error {
	return &weft.Error{Code: code, Outcome: outcome}
}

// told is a failure with the server's word on when to come back.
func told(code weft.Code, outcome weft.Outcome, after time.Duration) *weft.Error {
	return failure(code, outcome).WithRetryAfter(after)
}

func because(e *weft.Error, reason string) *weft.Error { return e.WithReason(reason) }

// kind is a decision without its wait and its words.
type kind struct{ again, paid, free, elsewhere bool }

func TestDecide(t *testing.T) {
	no, free, paid := kind{}, kind{again: true, elsewhere: true}, kind{again: true, paid: true, elsewhere: true}
	resend := kind{again: true, free: true, elsewhere: true}
	later := kind{again: true}
	lost := failure(weft.Unavailable, weft.OutcomeUnknown)
	refused := failure(weft.Unavailable, weft.Refused)
	unsent := failure(weft.Unavailable, weft.NotSent)
	late := failure(weft.DeadlineExceeded, weft.OutcomeUnknown)
	cut := because(failure(weft.Unavailable, weft.Executed), weft.ReasonShutdown)
	for _, test := range []struct {
		name    string
		policy  retry.Policy
		attempt retry.Attempt // Left 0 stands for a second
		want    kind
		after   time.Duration // with the random bits at their highest
	}{
		{"no error", retry.Policy{}, retry.Attempt{Number: 1, Idempotent: true}, no, 0},

		{"not sent", retry.Policy{}, retry.Attempt{Number: 1, Unsent: 1, Err: unsent}, free, 0},
		{"not sent, uncounted", retry.Policy{}, retry.Attempt{Number: 1, Err: unsent}, free, 0},
		{"not sent for the third time", retry.Policy{}, retry.Attempt{Number: 3, Unsent: 3, Err: unsent}, free, 0},
		{"not sent for the fourth time", retry.Policy{}, retry.Attempt{Number: 4, Unsent: 4, Err: unsent}, later, 20 * ms},
		{"not sent for the seventh time", retry.Policy{}, retry.Attempt{Number: 7, Unsent: 7, Err: unsent}, later, 160 * ms},
		{"not sent, near the bound", retry.Policy{}, retry.Attempt{Number: 23, Unsent: 23, Err: unsent, Left: retry.Forever}, later, time.Second},
		{"not sent, at the bound", retry.Policy{}, retry.Attempt{Number: 24, Unsent: 24, Err: unsent, Left: retry.Forever}, no, 0},
		{"not sent, nested", retry.Policy{}, retry.Attempt{Number: 1, Unsent: 1, Err: unsent, Upstream: 1}, free, 0},
		{"not sent, one attempt allowed", retry.Policy{Attempts: 1}, retry.Attempt{Number: 1, Unsent: 1, Err: unsent}, free, 0},
		{"forbidden by rules", retry.Policy{}, retry.Attempt{Number: 1, Unsent: 1, Err: because(failure(weft.Unavailable, weft.NotSent), weft.ReasonForbidden)}, no, 0},
		{"stopped by a breaker", retry.Policy{}, retry.Attempt{Number: 3, Unsent: 3, Err: because(failure(weft.Unavailable, weft.NotSent), weft.ReasonBreakerOpen)}, free, 0},
		{"stopped by the breakers of all", retry.Policy{}, retry.Attempt{Number: 4, Unsent: 4, Err: because(failure(weft.Unavailable, weft.NotSent), weft.ReasonBreakerOpen)}, no, 0},
		{"not sent within an attempt's time", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.DeadlineExceeded, weft.NotSent)}, free, 0},
		{"no room for one more call", retry.Policy{}, retry.Attempt{Number: 1, Err: because(failure(weft.ResourceExhausted, weft.NotSent), "TOO_MANY_CALLS")}, free, 0},
		{"too large to send", retry.Policy{}, retry.Attempt{Number: 1, Err: because(failure(weft.ResourceExhausted, weft.NotSent), "MESSAGE_TOO_LARGE")}, no, 0},
		{"wrong before it was sent", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.InvalidArgument, weft.NotSent)}, no, 0},

		{"refused", retry.Policy{}, retry.Attempt{Number: 1, Err: refused}, resend, 0},
		{"refused, one attempt allowed", retry.Policy{Attempts: 1}, retry.Attempt{Number: 1, Err: refused}, resend, 0},
		{"refused twice", retry.Policy{}, retry.Attempt{Number: 2, Err: refused, Resent: true}, paid, 20 * ms},
		{"refused three times", retry.Policy{}, retry.Attempt{Number: 3, Err: refused, Resent: true}, paid, 40 * ms},
		{"refused four times", retry.Policy{}, retry.Attempt{Number: 4, Err: refused, Resent: true}, no, 0},
		{"refused twice, one attempt allowed", retry.Policy{Attempts: 1}, retry.Attempt{Number: 2, Err: refused, Resent: true}, no, 0},
		{"refused, nested", retry.Policy{}, retry.Attempt{Number: 1, Err: refused, Upstream: 1}, no, 0},
		{"refused for too much work", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.ResourceExhausted, weft.Refused)}, paid, 20 * ms},
		{"refused with a time", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.Unavailable, weft.Refused, 50*ms)}, paid, 70 * ms},
		{"refused for good", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.Unavailable, weft.Refused, -1)}, no, 0},
		{"not let in", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Unauthenticated, weft.Refused)}, no, 0},
		{"too large to take", retry.Policy{}, retry.Attempt{Number: 1, Err: because(failure(weft.ResourceExhausted, weft.Refused), "METADATA_TOO_LARGE")}, no, 0},

		{"lost", retry.Policy{}, retry.Attempt{Number: 1, Err: lost}, no, 0},
		{"lost, idempotent", retry.Policy{}, retry.Attempt{Number: 1, Err: lost, Idempotent: true}, resend, 0},
		{"lost, one attempt allowed", retry.Policy{Attempts: 1}, retry.Attempt{Number: 1, Err: lost, Idempotent: true}, resend, 0},
		{"lost twice", retry.Policy{}, retry.Attempt{Number: 2, Err: lost, Idempotent: true, Resent: true}, paid, 20 * ms},
		{"lost three times", retry.Policy{}, retry.Attempt{Number: 3, Err: lost, Idempotent: true, Resent: true}, paid, 40 * ms},
		{"lost four times", retry.Policy{}, retry.Attempt{Number: 4, Err: lost, Idempotent: true, Resent: true}, no, 0},
		{"lost after two that were not sent", retry.Policy{}, retry.Attempt{Number: 3, Unsent: 2, Err: lost, Idempotent: true}, resend, 0},
		{"lost after a refusal", retry.Policy{}, retry.Attempt{Number: 2, Err: lost, Idempotent: true, Resent: true}, paid, 20 * ms},
		{"lost, nested", retry.Policy{}, retry.Attempt{Number: 1, Err: lost, Idempotent: true, Upstream: 2}, no, 0},
		{"lost amid a stream", retry.Policy{}, retry.Attempt{Number: 1, Err: lost, Idempotent: true, Answered: true}, no, 0},
		{"no answer in an attempt's time", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.DeadlineExceeded, weft.OutcomeUnknown), Idempotent: true}, paid, 20 * ms},
		{"a broken connection", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.DataLoss, weft.OutcomeUnknown), Idempotent: true}, paid, 20 * ms},
		{"stopped by a hook", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.PermissionDenied, weft.OutcomeUnknown), Idempotent: true}, no, 0},

		{"the handler failed", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.Executed), Idempotent: true}, paid, 20 * ms},
		{"the handler of a method not idempotent failed", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.Executed)}, no, 0},
		{"the handler failed, nested", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.Executed), Idempotent: true, Upstream: 1}, no, 0},
		{"cut off by a shutdown", retry.Policy{}, retry.Attempt{Number: 1, Err: cut, Idempotent: true}, resend, 0},
		{"cut off by a shutdown twice", retry.Policy{}, retry.Attempt{Number: 2, Err: cut, Idempotent: true, Resent: true}, paid, 20 * ms},
		{"cut off by a shutdown, not idempotent", retry.Policy{}, retry.Attempt{Number: 1, Err: cut}, no, 0},
		{"cut off by a shutdown, nested", retry.Policy{}, retry.Attempt{Number: 1, Err: cut, Idempotent: true, Upstream: 1}, no, 0},
		{"cut off by a shutdown in a policy without codes", retry.Policy{Codes: []weft.Code{}}, retry.Attempt{Number: 1, Err: cut, Idempotent: true}, no, 0},
		{"the handler found nothing", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.NotFound, weft.Executed), Idempotent: true}, no, 0},
		{"a quota is used up", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.ResourceExhausted, weft.Executed), Idempotent: true}, no, 0},
		{"a quota comes back", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.ResourceExhausted, weft.Executed, 100*ms), Idempotent: true}, paid, 120 * ms},
		{"a quota comes back too late", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.ResourceExhausted, weft.Executed, time.Second), Idempotent: true}, no, 0},
		{"a quota comes back just in time", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.ResourceExhausted, weft.Executed, 999*ms), Idempotent: true}, paid, time.Second - 1},
		{"the handler's own call was refused for overload", retry.Policy{}, retry.Attempt{Number: 1, Err: because(told(weft.ResourceExhausted, weft.Executed, ms), weft.ReasonOverloadWait), Idempotent: true}, no, 0},
		{"the same in a policy that wants it", retry.Policy{Codes: []weft.Code{weft.ResourceExhausted}}, retry.Attempt{Number: 1, Err: because(told(weft.ResourceExhausted, weft.Executed, ms), weft.ReasonOverloadWait), Idempotent: true}, paid, 21 * ms},
		{"the handler wants no retry", retry.Policy{}, retry.Attempt{Number: 1, Err: told(weft.Unavailable, weft.Executed, -1), Idempotent: true}, no, 0},
		{"a code of the policy's own", retry.Policy{Codes: []weft.Code{weft.Aborted}}, retry.Attempt{Number: 1, Err: failure(weft.Aborted, weft.Executed), Idempotent: true}, paid, 20 * ms},
		{"a default code in a policy with its own", retry.Policy{Codes: []weft.Code{weft.Aborted}}, retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.Executed), Idempotent: true}, no, 0},
		{"a policy without codes", retry.Policy{Codes: []weft.Code{}}, retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.Executed), Idempotent: true}, no, 0},

		{"the deadline has passed", retry.Policy{}, retry.Attempt{Number: 1, Err: unsent, Left: -1}, no, 0},
		{"the deadline comes before the backoff ends", retry.Policy{}, retry.Attempt{Number: 1, Err: late, Idempotent: true, Left: 20 * ms}, no, 0},
		{"the caller gave up before it was sent", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Canceled, weft.NotSent), Idempotent: true}, no, 0},
		{"the caller gave up", retry.Policy{}, retry.Attempt{Number: 1, Err: failure(weft.Canceled, weft.OutcomeUnknown), Idempotent: true}, no, 0},
		{"no deadline", retry.Policy{}, retry.Attempt{Number: 1, Err: late, Idempotent: true, Left: retry.Forever}, paid, 20 * ms},
		{"a policy of its own", retry.Policy{Attempts: 9, Backoff: ms, MaxBackoff: 5 * ms}, retry.Attempt{Number: 8, Err: late, Idempotent: true}, paid, 5 * ms},
		{"a step beyond all bits", retry.Policy{Attempts: 200}, retry.Attempt{Number: 150, Err: late, Idempotent: true, Left: retry.Forever}, paid, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := test.attempt
			a.Random = all
			if a.Left == 0 {
				a.Left = time.Second
			}
			d := test.policy.Decide(a)
			got := kind{d.Again, d.Paid, d.Free, d.Elsewhere}
			if got != test.want || d.After != test.after || d.Why == "" {
				t.Errorf("%+v, want %+v after %v", d, test.want, test.after)
			}
			if d.Again && d.After >= a.Left {
				t.Errorf("waits %v of the %v that are left", d.After, a.Left)
			}
			a.Random = 0
			if d.Again && d.After > 0 && test.policy.Decide(a).After >= d.After {
				t.Error("the wait has no jitter")
			}
		})
	}
}

// A call that nothing but the policy stops ends, whatever happens to it.
func TestDecideEnds(t *testing.T) {
	for _, outcome := range []weft.Outcome{weft.NotSent, weft.Refused, weft.OutcomeUnknown, weft.Executed} {
		var p retry.Policy
		a := retry.Attempt{Number: 1, Err: failure(weft.Unavailable, outcome), Idempotent: true, Left: retry.Forever}
		if outcome == weft.NotSent {
			a.Unsent = 1
		}
		for ; a.Number < 1000; a.Number++ {
			d := p.Decide(a)
			if !d.Again {
				break
			}
			a.Resent = a.Resent || d.Free
			if outcome == weft.NotSent {
				a.Unsent++
			}
		}
		want := 3
		switch outcome {
		case weft.NotSent:
			want = 24
		case weft.Refused, weft.OutcomeUnknown:
			want = 4
		}
		if a.Number != want {
			t.Errorf("%v: %d attempts, want %d", outcome, a.Number, want)
		}
	}
}

func TestHedge(t *testing.T) {
	usual := retry.Attempt{Number: 1, Idempotent: true, Left: time.Second}
	change := func(f func(a *retry.Attempt)) retry.Attempt {
		a := usual
		f(&a)
		return a
	}
	for _, test := range []struct {
		name    string
		policy  retry.Policy
		attempt retry.Attempt
		delay   time.Duration
		want    bool
	}{
		{"idempotent", retry.Policy{}, usual, 30 * ms, true},
		{"not idempotent", retry.Policy{}, change(func(a *retry.Attempt) { a.Idempotent = false }), 30 * ms, false},
		{"a retry", retry.Policy{}, change(func(a *retry.Attempt) { a.Number = 2 }), 30 * ms, false},
		{"nested in a retry", retry.Policy{}, change(func(a *retry.Attempt) { a.Upstream = 1 }), 30 * ms, false},
		{"a stream that has begun", retry.Policy{}, change(func(a *retry.Attempt) { a.Answered = true }), 30 * ms, false},
		{"one attempt allowed", retry.Policy{Attempts: 1}, usual, 30 * ms, false},
		{"latency unknown", retry.Policy{}, usual, 0, false},
		{"too late", retry.Policy{}, usual, time.Second, false},
		{"no deadline", retry.Policy{}, change(func(a *retry.Attempt) { a.Left = retry.Forever }), time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := test.policy.Hedge(test.attempt, test.delay)
			if d.Again != test.want || d.Why == "" {
				t.Fatalf("%+v, want again: %v", d, test.want)
			}
			if d.Again && (!d.Paid || !d.Elsewhere || d.After != test.delay) {
				t.Errorf("%+v, want a paid attempt elsewhere after %v", d, test.delay)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy retry.Policy
		ok     bool
	}{
		{"defaults", retry.Policy{}, true},
		{"its own", retry.Policy{Attempts: 1, Backoff: ms, MaxBackoff: ms, Codes: []weft.Code{weft.Aborted, weft.DeadlineExceeded}}, true},
		{"negative attempts", retry.Policy{Attempts: -1}, false},
		{"negative backoff", retry.Policy{Backoff: -1}, false},
		{"negative longest backoff", retry.Policy{MaxBackoff: -1}, false},
		{"a backoff beyond the longest", retry.Policy{Backoff: 2 * time.Second}, false},
		{"the code of success", retry.Policy{Codes: []weft.Code{0}}, false},
		{"a code that does not exist", retry.Policy{Codes: []weft.Code{17}}, false},
		{"canceled", retry.Policy{Codes: []weft.Code{weft.Canceled}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.policy.Check()
			if (err == nil) != test.ok || err != nil && weft.CodeOf(err) != weft.InvalidArgument {
				t.Errorf("error %v, want one: %v", err, !test.ok)
			}
		})
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	p := retry.Policy{Codes: []weft.Code{weft.Unavailable}}
	errs := []*weft.Error{
		failure(weft.Unavailable, weft.NotSent), failure(weft.Unavailable, weft.Refused),
		failure(weft.Unavailable, weft.OutcomeUnknown), told(weft.Unavailable, weft.Executed, ms),
	}
	n := testing.AllocsPerRun(100, func() {
		for _, e := range errs {
			p.Decide(retry.Attempt{Number: 1, Err: e, Idempotent: true, Left: time.Second})
		}
		p.Hedge(retry.Attempt{Number: 1, Idempotent: true, Left: time.Second}, ms)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	var p retry.Policy
	a := retry.Attempt{Number: 1, Err: failure(weft.Unavailable, weft.OutcomeUnknown), Idempotent: true, Left: time.Second, Random: all}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(a)
	}
}

// What a server refuses for overload is tried on another one at once, then not before the
// servers ask for it, and always paid for; what the client holds back itself is not tried.
func TestOverload(t *testing.T) {
	refusal := weft.Errorf(weft.ResourceExhausted, "overloaded").WithReason(weft.ReasonOverloadWait).WithRetryAfter(time.Second)
	refusal.Outcome = weft.Refused
	if !retry.Overload(refusal) || retry.Overload(weft.Errorf(weft.ResourceExhausted, "another").WithReason(weft.ReasonTooManyCalls)) {
		t.Error("refusals for overload are not told from others")
	}
	p := retry.Policy{Attempts: 4}
	for number, most := range map[int]time.Duration{1: retry.DefaultBackoff, 2: time.Hour} {
		d := p.Decide(retry.Attempt{Number: number, Err: refusal, Left: time.Minute, Random: 1 << 62})
		if !d.Again || !d.Paid || !d.Elsewhere || d.After > most || number > 1 && d.After < time.Second {
			t.Errorf("attempt %d: %+v", number, d)
		}
	}
	held := weft.Errorf(weft.ResourceExhausted, "held back").WithReason(weft.ReasonThrottled)
	held.Outcome = weft.NotSent
	if d := p.Decide(retry.Attempt{Number: 1, Unsent: 1, Err: held, Left: time.Minute}); d.Again || d.Paid {
		t.Errorf("a call that was held back: %+v", d)
	}
}
