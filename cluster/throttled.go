package cluster

import (
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/retry"
)

// throttled counts an attempt that is about to be made, and says why it must not be. first says that the call was not sent before.
func (s *service) throttled(x *call, first bool) error {
	t := &s.throttle
	if !t.Active(x.pick.Now) || x.c.cfg.NoThrottle {
		x.heeded = false
		return nil
	}
	var ok bool
	if ok, x.heeded = t.Allow(x.pick.Now, weft.PriorityFrom(x.ctx), rand.Uint64()); ok {
		return nil
	}
	if first {
		x.c.totals.unsent.Add(1)
	}
	return &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.NotSent, Method: x.m.name, Reason: weft.ReasonThrottled,
		Message: "the servers of the service refuse many calls for overload, and this client sends fewer; try again later"}
}

// heed tells the throttle of the failure of an attempt, if it is one.
func (s *service) heed(x *call, err error, now time.Duration) {
	if e, ok := asError(err); ok && retry.Overload(e) {
		s.throttle.Refused(now, weft.PriorityFrom(x.ctx), x.heeded)
	}
}
