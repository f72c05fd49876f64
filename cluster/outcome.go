package cluster

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/retry"
)

// verdict is what the failure of an attempt says of its server.
type verdict struct {
	balance   balance.Result // did it do its work?
	health    health.Result  // is it alive?
	breaker   breaker.Result // does the method work there?
	gone      string         // why it takes no calls now
	unreached bool           // it is gone because a connection could not be made
	lost      bool           // the connection was lost with the call on it
}

// judge reads a failure. connected reports whether the server has a connection now.
func judge(ctx context.Context, err error, connected bool) verdict {
	nothing := verdict{balance: balance.Canceled, health: health.Canceled, breaker: breaker.Canceled}
	e, ok := asError(err)
	if !ok {
		return verdict{} // an interceptor's own error says nothing about the server
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) || e.Code == weft.Canceled && e.Outcome != weft.Executed {
		return nothing
	}
	switch e.Outcome {
	case weft.NotSent:
		v := nothing
		if e.Code == weft.Unavailable && !connected {
			// For health it is down, which is more than a call that failed.
			v.balance, v.gone, v.unreached = balance.Failed, "it cannot be reached: "+e.Message, true
		}
		// Otherwise the message, the credential, a hook or the caller's time was at fault.
		return v
	case weft.Refused:
		v := verdict{balance: balance.OK, breaker: breaker.Canceled}
		switch e.Code {
		case weft.Unavailable:
			v.balance = balance.Failed
			if e.Reason == weft.ReasonDraining || e.Reason == weft.ReasonShutdown {
				v.gone = "it takes no more calls: " + e.Message
			}
		case weft.ResourceExhausted, weft.DeadlineExceeded:
			v.balance, v.breaker = balance.Failed, breaker.Failed
			if retry.Overload(e) {
				v.breaker = breaker.Canceled // it takes as many calls as it can; the throttle heeds that
			}
		}
		return v
	case weft.Executed:
		if e.Code == weft.Unavailable && e.Reason == weft.ReasonShutdown {
			// All calls in flight were cut off when a server's time to shut down was up, which says nothing about their methods.
			v := verdict{balance: balance.Failed, breaker: breaker.Canceled}
			if !connected { // otherwise the handler may have passed it on
				v.gone = "it has shut down"
			}
			return v
		}
		switch e.Code {
		case weft.Unavailable, weft.ResourceExhausted, weft.DeadlineExceeded:
			return verdict{balance: balance.Failed, breaker: breaker.Failed}
		case weft.Internal, weft.DataLoss:
			return verdict{breaker: breaker.Failed}
		}
		return verdict{}
	}
	return verdict{
		balance: balance.Failed, health: health.Failed, breaker: breaker.Failed,
		lost: e.Code == weft.Unavailable, // nothing else ends a call so that was sent
	}
}

func asError(err error) (*weft.Error, bool) { return errors.AsType[*weft.Error](err) }

// breakerOpen is the failure of an attempt that the breaker of the method did not let through.
func breakerOpen(method, peer string) error {
	return notSent(method, peer, "the breaker of the method is open on this server").WithReason(weft.ReasonBreakerOpen)
}

// notSent is the failure of an attempt that was not made.
func notSent(method, peer, why string) *weft.Error {
	return &weft.Error{Code: weft.Unavailable, Outcome: weft.NotSent, Method: method, Peer: peer, Message: why}
}
