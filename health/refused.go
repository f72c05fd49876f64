package health

import (
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/logger"
)

// The pauses before the registry is told again what it has refused.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 10 * time.Second
)

// refusals are the services whose states the registry has refused. They are used with Health.publishing locked.
type refusals map[string]*refusal

// refusal is what is known of one of them.
type refusal struct {
	ready  bool // the state was this
	pause  time.Duration
	next   time.Time // when the registry is told again
	errors logger.Repeated
}

// wait reports whether the registry is not to be told of a service yet: what it was not told before it is told at once.
func (r refusals) wait(service string, ready bool) bool {
	x := r[service]
	return x != nil && x.ready == ready && time.Now().Before(x.next)
}

// note notes an error and reports whether it is to be logged.
func (r refusals) note(service string, ready bool, err error) (log bool) {
	x := r[service]
	if x == nil {
		x = new(refusal)
		r[service] = x
	}
	x.ready, x.pause = ready, min(max(2*x.pause, leastPause), mostPause)
	x.next = time.Now().Add(x.pause)
	return x.errors.Allow(err)
}

// settled notes that the registry has the state of a service. What was logged stays known.
func (r refusals) settled(service string) {
	if x := r[service]; x != nil {
		x.pause, x.next = 0, time.Time{}
	}
}

// keep forgets the services that the server does not have any more.
func (r refusals) keep(services []string) {
	maps.DeleteFunc(r, func(service string, _ *refusal) bool { return !slices.Contains(services, service) })
}
