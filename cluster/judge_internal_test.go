package cluster

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
)

// TestJudgeOfGoingServers has each way in which a call learns that its server goes: the server is left at once, and its methods keep their
// good name. What a handler passes on says nothing about its own server.
func TestJudgeOfGoingServers(t *testing.T) {
	nothing := verdict{balance: balance.Failed, health: health.Canceled, breaker: breaker.Canceled}
	for _, test := range []struct {
		name      string
		outcome   weft.Outcome
		reason    string
		connected bool
		gone      bool
		want      verdict // beside gone
	}{
		{"a call on a connection behind GOAWAY, and no other", weft.NotSent, weft.ReasonDraining, false, true, func() verdict { nothing.unreached = true; return nothing }()},
		{"a connection that was refused", weft.NotSent, weft.ReasonHandshake, false, true, nothing},
		{"a call on a connection behind GOAWAY beside one that is open", weft.NotSent, weft.ReasonDraining, true, false,
			verdict{balance: balance.Canceled, health: health.Canceled, breaker: breaker.Canceled}},
		{"a refused call", weft.Refused, weft.ReasonDraining, true, true, verdict{balance: balance.Failed, breaker: breaker.Canceled}},
		{"a refused call of a server whose time is up", weft.Refused, weft.ReasonShutdown, true, true, verdict{balance: balance.Failed, breaker: breaker.Canceled}},
		{"a call that was cut off", weft.Executed, weft.ReasonShutdown, false, true, verdict{balance: balance.Failed, breaker: breaker.Canceled}},
		{"a call whose handler passes that on", weft.Executed, weft.ReasonShutdown, true, false, verdict{balance: balance.Failed, breaker: breaker.Canceled}},
		{"a call whose handler passes a refusal on", weft.Executed, weft.ReasonDraining, true, false, verdict{balance: balance.Failed, breaker: breaker.Failed}},
		{"a connection that was lost behind a drain", weft.OutcomeUnknown, weft.ReasonDraining, false, false,
			verdict{balance: balance.Failed, health: health.Failed, breaker: breaker.Failed, lost: true}}, // its hook tells
	} {
		got := judge(t.Context(), &weft.Error{Code: weft.Unavailable, Outcome: test.outcome, Reason: test.reason, Message: "going"}, test.connected)
		if (got.gone != "") != test.gone {
			t.Errorf("%s: gone %q, want %v", test.name, got.gone, test.gone)
		}
		if got.gone = ""; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
