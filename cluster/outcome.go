package cluster

import (
	"errors"

	"github.com/weftrpc/weft"
)

func asError(err error) (*weft.Error, bool) { return errors.AsType[*weft.Error](err) }

// breakerOpen is the failure of an attempt that the breaker of the method did not let through.
func breakerOpen(method, peer string) error {
	return notSent(method, peer, "the breaker of the method is open on this server").WithReason(weft.ReasonBreakerOpen)
}

// notSent is the failure of an attempt that was not made.
func notSent(method, peer, why string) *weft.Error {
	return &weft.Error{Code: weft.Unavailable, Outcome: weft.NotSent, Method: method, Peer: peer, Message: why}
}
