// Package verdict says what the failure of an attempt of a call tells of the server that it was made to.
package verdict

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/retry"
)

// Verdict is what the failure of an attempt says of its server.
type Verdict struct {
	Balance   balance.Result // did it do its work?
	Health    health.Result  // is it alive?
	Breaker   breaker.Result // does the method work there?
	Gone      string         // why it takes no calls now
	Unreached bool           // it is gone because a connection could not be made
	Lost      bool           // the connection was lost with the call on it
}

// Of reads a failure. connected reports whether the server has a connection now.
func Of(ctx context.Context, err error, connected bool) Verdict {
	nothing := Verdict{Balance: balance.Canceled, Health: health.Canceled, Breaker: breaker.Canceled}
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return Verdict{} // an interceptor's own error says nothing about the server
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) || e.Code == weft.Canceled && e.Outcome != weft.Executed {
		return nothing
	}
	switch e.Outcome {
	case weft.NotSent:
		v := nothing
		if e.Code == weft.Unavailable && !connected {
			// For health it is down, which is more than a call that failed.
			v.Balance, v.Gone, v.Unreached = balance.Failed, "it cannot be reached: "+e.Message, true
		}
		// Otherwise the message, the credential, a hook or the caller's time was at fault.
		return v
	case weft.Refused:
		v := Verdict{Balance: balance.OK, Breaker: breaker.Canceled}
		switch e.Code {
		case weft.Unavailable:
			v.Balance = balance.Failed
			if e.Reason == weft.ReasonDraining || e.Reason == weft.ReasonShutdown {
				v.Gone = "it takes no more calls: " + e.Message
			}
		case weft.ResourceExhausted, weft.DeadlineExceeded:
			v.Balance, v.Breaker = balance.Failed, breaker.Failed
			if retry.Overload(e) {
				v.Breaker = breaker.Canceled // it takes as many calls as it can; the throttle heeds that
			}
		}
		return v
	case weft.Executed:
		if e.Code == weft.Unavailable && e.Reason == weft.ReasonShutdown {
			// All calls in flight were cut off when a server's time to shut down was up, which says nothing about their methods.
			v := Verdict{Balance: balance.Failed, Breaker: breaker.Canceled}
			if !connected { // otherwise the handler may have passed it on
				v.Gone = "it has shut down"
			}
			return v
		}
		switch e.Code {
		case weft.Unavailable, weft.ResourceExhausted, weft.DeadlineExceeded:
			return Verdict{Balance: balance.Failed, Breaker: breaker.Failed}
		case weft.Internal, weft.DataLoss:
			return Verdict{Breaker: breaker.Failed}
		}
		return Verdict{}
	}
	return Verdict{
		Balance: balance.Failed, Health: health.Failed, Breaker: breaker.Failed,
		Lost: e.Code == weft.Unavailable, // nothing else ends a call so that was sent
	}
}
