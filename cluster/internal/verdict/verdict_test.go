package verdict

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestOfGoingServers has each way in which a call learns that its server goes: the server is left at once, and its methods keep their
// good name. What a handler passes on says nothing about its own server.
func TestOfGoingServers(t *testing.T) {
	nothing := Verdict{Balance: balance.Failed, Health: health.Canceled, Breaker: breaker.Canceled}
	for _, test := range []struct {
		name      string
		outcome   weft.Outcome
		reason    string
		connected bool
		gone      bool
		want      Verdict // beside gone
	}{
		{"a call on a connection behind GOAWAY, and no other", weft.NotSent, weft.ReasonDraining, false, true, func() Verdict { nothing.Unreached = true; return nothing }()},
		{"a connection that was refused", weft.NotSent, weft.ReasonHandshake, false, true, nothing},
		{"a call on a connection behind GOAWAY beside one that is open", weft.NotSent, weft.ReasonDraining, true, false,
			Verdict{Balance: balance.Canceled, Health: health.Canceled, Breaker: breaker.Canceled}},
		{"a refused call", weft.Refused, weft.ReasonDraining, true, true, Verdict{Balance: balance.Failed, Breaker: breaker.Canceled}},
		{"a refused call of a server whose time is up", weft.Refused, weft.ReasonShutdown, true, true, Verdict{Balance: balance.Failed, Breaker: breaker.Canceled}},
		{"a call that was cut off", weft.Executed, weft.ReasonShutdown, false, true, Verdict{Balance: balance.Failed, Breaker: breaker.Canceled}},
		{"a call whose handler passes that on", weft.Executed, weft.ReasonShutdown, true, false, Verdict{Balance: balance.Failed, Breaker: breaker.Canceled}},
		{"a call whose handler passes a refusal on", weft.Executed, weft.ReasonDraining, true, false, Verdict{Balance: balance.Failed, Breaker: breaker.Failed}},
		{"a connection that was lost behind a drain", weft.OutcomeUnknown, weft.ReasonDraining, false, false,
			Verdict{Balance: balance.Failed, Health: health.Failed, Breaker: breaker.Failed, Lost: true}}, // its hook tells
	} {
		got := Of(t.Context(), &weft.Error{Code: weft.Unavailable, Outcome: test.outcome, Reason: test.reason, Message: "going"}, test.connected)
		if (got.Gone != "") != test.gone {
			t.Errorf("%s: gone %q, want %v", test.name, got.Gone, test.gone)
		}
		if got.Gone = ""; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
