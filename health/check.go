package health

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
)

// check is a Check with what is known of it. Its last fields are guarded by Health.mu.
type check struct {
	Check
	made    bool // it was made at least once
	failing bool
	row     int // failures in a row
	err     error
	at      time.Time
}

// watch makes a check from time to time, until the server begins to shut down.
func (h *Health) watch(c *check) {
	life, stop := context.WithCancel(context.Background())
	defer stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-h.srv.Draining():
			return
		}
		ctx, cancel := context.WithTimeout(life, c.Timeout)
		result := make(chan error, 1)
		// It ends with the function of the check, which ctx ends.
		go func() { result <- c.call(ctx) }()
		select {
		case err := <-result:
			h.note(c, err)
		case <-ctx.Done():
			h.note(c, weft.Errorf(weft.DeadlineExceeded, "no result after %v", c.Timeout))
			select { // it is not called again while it runs
			case <-result:
			case <-h.srv.Draining():
				cancel()
				return
			}
		case <-h.srv.Draining():
			cancel()
			return
		}
		cancel()
		pause.Reset(c.Period)
	}
}

// call calls the function, and makes an error of its panic.
func (c *check) call(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = weft.Errorf(weft.Internal, "the check panicked: %v", p)
		}
	}()
	return c.Func(ctx)
}

// note notes the result of a check.
func (h *Health) note(c *check, err error) {
	h.mu.Lock()
	before, first := c.failing, !c.made
	c.made, c.err, c.at = true, err, time.Now()
	if err == nil {
		c.row = 0
	} else {
		c.row++
	}
	c.failing = c.row >= c.Failures || c.failing && err != nil || first && err != nil
	failing := c.failing
	h.mu.Unlock()
	switch {
	case failing && !before:
		h.log.Warn("a health check fails", "check", c.Name, "services", c.Services, "optional", c.Optional, "error", err)
	case before && !failing:
		h.log.Warn("a health check holds again", "check", c.Name)
	}
	h.tell()
}

// Dependency is an optional check that another server's health is good, as c sees it: it calls
// weft.v1.Health.Check for a service of it, "" for the whole of it. With a cluster.Client the
// service weft.v1.Health must be among those that the registry has.
func Dependency(name string, c weft.Caller, service string) Check {
	return Check{Name: name, Optional: true, Func: func(ctx context.Context) error {
		r, err := weft.Invoke[Report](ctx, c, Service+".Check", &Query{Service: service})
		if err != nil {
			return err
		}
		if r.Status != Serving.String() {
			return weft.Errorf(weft.Unavailable, "it is %s", r.Status)
		}
		return nil
	}}
}
