package announce

import (
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft/internal/logger"
)

// firstPause and mostPause bound the time before a service is tried again that the registry has refused.
const (
	firstPause = 500 * time.Millisecond
	mostPause  = 30 * time.Second
)

// refusal is a service that the registry has refused, since it was last published as it is.
type refusal struct {
	failures int
	errors   logger.Repeated
	timer    *time.Timer // to its next attempt; nil: there is none before the service changes
}

// tryLocked publishes a service, and does so again with growing pauses if the registry has refused it for a reason that may pass.
func (a *Announcer) tryLocked(service string) {
	err, r, log := a.showLocked(service), a.refused[service], a.cfg.Log
	if err == nil {
		if r != nil {
			a.forgetLocked(service)
			log.Info("the service is registered", "service", service, "failures", r.failures)
		}
		return
	}
	if r == nil {
		r = new(refusal)
		a.refused[service] = r
	}
	r.failures++
	r.timer = nil
	tell := r.errors.Allow(err)
	if a.cfg.Code(err).Lasting() {
		if tell {
			log.Error("the service cannot be registered", "service", service, "error", err)
		}
		return
	}
	if tell {
		log.Warn("the service is not registered, trying again", "service", service, "error", err, "failures", r.failures)
	}
	pause := firstPause
	for i := 1; i < r.failures && pause < mostPause; i++ {
		pause *= 2
	}
	pause = min(pause, mostPause)
	var timer *time.Timer
	timer = time.AfterFunc(pause*4/5+rand.N(pause*2/5), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r := a.refused[service]; r != nil && r.timer == timer {
			r.timer = nil
			a.settleLocked(service)
		}
	})
	r.timer = timer
}

// forgetLocked ends the attempts to publish a service.
func (a *Announcer) forgetLocked(service string) {
	if r := a.refused[service]; r != nil && r.timer != nil {
		r.timer.Stop()
	}
	delete(a.refused, service)
}
