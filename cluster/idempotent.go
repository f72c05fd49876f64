package cluster

import (
	"slices"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/instance"
)

// idempotent are the methods of a service that its servers have published as idempotent.
// One counts when every server publishes it: a call that is made again may reach any.
type idempotent struct{ methods []string } // without the service, in order; or instance.All

// publishedBy finds them among the instances. It returns last if nothing has changed, so
// that the policies of methods stay.
func publishedBy(instances []weft.Instance, last *idempotent) *idempotent {
	now := &idempotent{}
	for i := range instances {
		published := instances[i].Idempotent
		switch {
		case i == 0:
			now.methods = slices.Sorted(slices.Values(published))
		case now.has(instance.All):
			now.methods = slices.Sorted(slices.Values(published))
		case !slices.Contains(published, instance.All):
			now.methods = slices.DeleteFunc(now.methods, func(m string) bool { return !slices.Contains(published, m) })
		}
	}
	if last != nil && slices.Equal(last.methods, now.methods) {
		return last
	}
	return now
}

func (p *idempotent) has(method string) bool {
	return p != nil && (slices.Contains(p.methods, method) || slices.Contains(p.methods, instance.All))
}

// idempotent reports whether the call may run twice, as is known now: the list of servers
// may have been empty when it began.
func (x *call) idempotent() bool {
	return x.m.policyUnder(x.c, x.v).idempotent || markedIdempotent(x.ctx)
}
