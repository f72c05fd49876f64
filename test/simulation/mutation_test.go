package simulation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// mutation breaks an invariant on purpose: it runs around every attempt of every client.
type mutation = weft.UnaryInterceptor

// outcomeOf is the outcome of a failure; false when there is none.
func outcomeOf(err error) (weft.Outcome, bool) {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return 0, false
	}
	return e.Outcome, true
}

// saying returns a copy of an error with another outcome.
func saying(err error, o weft.Outcome) error {
	e, _ := errors.AsType[*weft.Error](err)
	c := *e
	c.Outcome = o
	return &c
}

// mutations are the defects that a simulation must find.
func mutations() map[string]mutation {
	return map[string]mutation{
		"a call that may have run is sent again": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if o, failed := outcomeOf(err); failed && o == weft.OutcomeUnknown && ctx.Err() == nil {
				return next(ctx, info, req)
			}
			return reply, err
		},
		"a call is sent twice at once": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			if _, err := next(ctx, info, req); err != nil {
				return info.Reply, err
			}
			return next(ctx, info, req)
		},
		"what may have run is said not to have been sent": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if o, failed := outcomeOf(err); failed && o == weft.OutcomeUnknown {
				return reply, saying(err, weft.NotSent)
			}
			return reply, err
		},
		"what was not sent is said to have run": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if o, failed := outcomeOf(err); failed && o == weft.NotSent {
				return reply, saying(err, weft.Executed)
			}
			return reply, err
		},
		"a failure is said to be a success": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if o, failed := outcomeOf(err); failed && o == weft.NotSent {
				return reply, nil
			}
			return reply, err
		},
		"a reply is that of another request": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if r, ok := reply.(*Receipt); ok && err == nil && r.ID%7 == 0 {
				r.ID++
			}
			return reply, err
		},
		"a deadline is not kept": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			if ctx.Err() != nil {
				time.Sleep(2 * late)
			}
			return reply, err
		},
		"what the handler has refused is sent again and again": func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			for range 5 {
				if o, failed := outcomeOf(err); !failed || o != weft.Executed {
					break
				}
				reply, err = next(ctx, info, req)
			}
			return reply, err
		},
	}
}

// TestMutations breaks each invariant in the client, and expects that a few seeds notice it.
func TestMutations(t *testing.T) {
	const most = 60 // seeds
	for name, m := range mutations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= most; seed++ {
				if wrong := play(t, seed, m); len(wrong) > 0 {
					t.Logf("seed %d: %s", seed, wrong[0])
					return
				}
			}
			t.Errorf("no seed up to %d has noticed it", most)
		})
	}
}

// TestVerdict breaks the ledger of calls in ways that no client can be made to.
func TestVerdict(t *testing.T) {
	p := &plan{Scene: storm, Clients: []clientPlan{{Name: "c", Recorded: true}}}
	failed := &weft.Error{Code: weft.Unavailable, Outcome: weft.OutcomeUnknown}
	attempts := func(n int) (out []*attempt) {
		for i := range n {
			at := time.Duration(i) * time.Millisecond
			out = append(out, &attempt{began: at, ended: at, done: true, err: failed})
		}
		return out
	}
	for name, spoil := range map[string]func(x *entry){
		"a call that never ends":                  func(x *entry) { x.ended = false },
		"an error of a foreign type":              func(x *entry) { x.strange = errors.New("odd") },
		"a one-way call that ran twice":           func(x *entry) { x.kind, x.runs = note, append(x.runs, x.runs...) },
		"a reply of a server that did not run it": func(x *entry) { x.reply.Host = "b" },
		"a call that was sent too often":          func(x *entry) { x.kind, x.attempts = repeatable, attempts(5) },
		"an unmarked call that was repeated":      func(x *entry) { x.attempts = attempts(2) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			x := l.open(1, "c", once, callPlan{Timeout: time.Second})
			l.ran(1, "a", 0)
			l.close(x, &Receipt{ID: 1, Host: "a", Pad: []byte{}}, nil)
			if wrong := l.verdict(p, nil); len(wrong) > 0 {
				t.Fatalf("a sound ledger: %q", wrong)
			}
			spoil(x)
			if wrong := l.verdict(p, nil); len(wrong) == 0 {
				t.Error("it was not noticed")
			}
		})
	}
	l := newLedger()
	for id := range int64(40) {
		l.open(id, "c", repeatable, callPlan{Timeout: time.Second}).attempts = attempts(4)
	}
	if wrong := l.budgets(p); len(wrong) == 0 {
		t.Error("retries beyond the budget were not noticed")
	}
	fmt.Fprint(t.Output(), l.order[0], "\n")
}
