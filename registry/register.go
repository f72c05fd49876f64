package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// registration keeps one instance published.
type registration struct {
	r      *Registry
	log    *slog.Logger    // knows the service and the ID
	life   context.Context // ends with Close
	cancel context.CancelFunc
	work   context.Context // of operations; Close lets the last one end
	abort  context.CancelFunc
	done   chan struct{}
	update chan struct{} // holds one when the instance was replaced

	mu       sync.Mutex
	instance weft.Instance
	dirty    bool // the registry does not have this instance yet

	held *weft.Instance // what the registry has, as far as is known; belongs to keep
}

// Register publishes an instance and keeps it published until the registration is
// closed: it comes back by itself after the registry was away, has lost it or has
// lost all its data. It does not wait for the registry. An error means that the
// instance cannot be registered at all, or that the registry is closed.
func (r *Registry) Register(instance weft.Instance) (weft.Registration, error) {
	instance = instance.Clone()
	if err := instance.Check(); err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "registry: %w", err)
	}
	g := &registration{r: r, instance: instance, dirty: true, done: make(chan struct{}), update: make(chan struct{}, 1)}
	g.log = r.cfg.Logger.With("service", instance.Service, "id", instance.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, weft.Errorf(weft.FailedPrecondition, "registry: it is closed")
	}
	for other := range r.registrations {
		if i := other.current(); i.Service == instance.Service && i.ID == instance.ID {
			return nil, weft.Errorf(weft.AlreadyExists, "registry: instance %q of %s is registered already", instance.ID, instance.Service)
		}
	}
	g.work, g.abort = context.WithCancel(r.life)
	g.life, g.cancel = context.WithCancel(g.work)
	r.registrations[g] = struct{}{}
	r.wg.Add(1)
	// It ends when the registration or the registry is closed.
	go g.keep()
	return g, nil
}

// Update replaces what is published. Service and ID must stay as they are.
func (g *registration) Update(instance weft.Instance) error {
	instance = instance.Clone()
	if err := instance.Check(); err != nil {
		return weft.Errorf(weft.InvalidArgument, "registry: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if instance.Service != g.instance.Service || instance.ID != g.instance.ID {
		return weft.Errorf(weft.InvalidArgument, "registry: an update of instance %q of %s cannot make it %q of %s",
			g.instance.ID, g.instance.Service, instance.ID, instance.Service)
	}
	if g.instance.Equal(&instance) {
		return nil
	}
	g.instance, g.dirty = instance, true
	select {
	case g.update <- struct{}{}:
	default:
	}
	return nil
}

func (g *registration) current() weft.Instance {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.instance
}

// keep publishes the instance and refreshes it.
func (g *registration) keep() {
	defer g.r.wg.Done()
	defer close(g.done)
	failures := 0
	var told complaint
	var lost logger.Repeated
	for g.life.Err() == nil {
		err := g.once()
		switch {
		case g.life.Err() != nil:
			return
		case errors.Is(err, ErrLost) && !g.isDirty():
			if lost.Allow(ErrLost) { // a registry may lose it again each time
				g.log.Warn("registration lost, registering again")
			}
			g.markDirty()
			g.held = nil
			failures = 0
			// All servers notice at the same time that a registry has lost its data.
			sleep(g.life, rand.N(g.r.cfg.TTL/20), nil)
		case err != nil:
			if failures++; told.worth(err, failures == 1) {
				g.log.Warn("registration failed, trying again", "error", err, "failures", failures)
			}
			g.r.pauseRegistration(g.life, failures, g.update)
		default:
			if failures > 0 {
				g.log.Info("registered again", "failures", failures)
			}
			failures = 0
			third := g.r.cfg.TTL / 3
			sleep(g.life, third*4/5+rand.N(third/5), g.update)
		}
	}
}

// complainEvery is the least time between two lines of the log about one outage.
const complainEvery = time.Minute

// complaint is what was last logged of a registration that fails.
type complaint struct {
	text string
	at   time.Time
}

// worth reports whether an error is to be logged, and notes that it is: one that begins an outage, and after a while another one than
// before. A registry that could not be reached, and then refuses what it is asked, has something new to say.
func (c *complaint) worth(err error, first bool) bool {
	text, now := err.Error(), time.Now()
	if !first && (text == c.text || now.Sub(c.at) < complainEvery) {
		return false
	}
	c.text, c.at = text, now
	return true
}

// once publishes the instance, or refreshes it when the registry has it.
func (g *registration) once() error {
	g.mu.Lock()
	instance, dirty := g.instance.Clone(), g.dirty
	g.dirty = false
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(g.work, g.r.operationTimeout())
	defer cancel()
	if !dirty {
		return g.r.driver.Refresh(ctx, instance, g.r.cfg.TTL)
	}
	err := g.r.driver.Put(ctx, instance, g.r.cfg.TTL)
	if err == nil {
		g.held = &instance
		return nil
	}
	g.markDirty()
	if g.held == nil || ctx.Err() != nil {
		return err
	}
	// It may be that the registry does not take what is new. What it has must not
	// expire meanwhile.
	if g.r.driver.Refresh(ctx, *g.held, g.r.cfg.TTL) == nil {
		err = fmt.Errorf("the update is not taken, and what was registered before stays: %w", err)
	}
	return err
}

// markDirty notes that the registry may not have the instance.
func (g *registration) markDirty() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dirty = true
}

// isDirty reports whether the registry does not have the instance, as far as is known: what has failed is no Refresh then.
func (g *registration) isDirty() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dirty
}

// finishTime is how long Close waits at most for an operation that has begun; it waits for no more than half of what its context leaves.
const finishTime = time.Second

// finish ends the operations. It waits for one that has begun: if that was given up, the
// registry could still do it, and after the instance was withdrawn.
func (g *registration) finish(ctx context.Context) {
	g.cancel()
	wait := finishTime
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2) // the rest is for the withdrawal
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-g.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	g.abort()
	<-g.done
}

// Close withdraws the instance. When the registry cannot be told before ctx ends, and
// within the instance's time to live, it returns an error, and the instance expires there.
// It may be called twice.
func (g *registration) Close(ctx context.Context) error {
	g.r.mu.Lock()
	_, open := g.r.registrations[g]
	delete(g.r.registrations, g)
	g.r.mu.Unlock()
	g.finish(ctx)
	if !open {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.r.cfg.TTL)
	defer cancel()
	instance := g.current()
	if err := g.r.driver.Delete(ctx, instance); err != nil {
		return fmt.Errorf("registry %s: instance %q of %s could not be withdrawn and expires after %v: %w",
			g.r.name, instance.ID, instance.Service, g.r.cfg.TTL, err)
	}
	return nil
}
