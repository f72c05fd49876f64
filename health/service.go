package health

import (
	"context"
	"errors"
	"time"

	"github.com/weftrpc/weft"
)

// Query is the request of weft.v1.Health.Check and weft.v1.Health.Watch.
type Query struct {
	Service string `json:"service"` // "": the whole server
}

// Report is what they answer.
type Report struct {
	Service string   `json:"service,omitempty"`
	Status  string   `json:"status"` // "starting", "serving", "not serving" or "draining"
	Checks  []Result `json:"checks,omitempty"`
}

// Result is what one check has found. What its error says stays on the server: Report names
// the checks alone.
type Result struct {
	Name     string  `json:"name"`
	Failing  bool    `json:"failing"`
	Optional bool    `json:"optional,omitempty"`
	Age      float64 `json:"age_seconds"` // since it was made; below zero: never
}

// Report says how a service is, or the whole server for "". The error has the code NotFound
// when there is no such service.
func (h *Health) Report(service string) (*Report, error) {
	s, ok := h.Status(service)
	if !ok {
		return nil, weft.Errorf(weft.NotFound, "there is no service %q here", service)
	}
	r := &Report{Service: service, Status: s.String()}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.checks {
		age := -1.0
		if c.made {
			age = time.Since(c.at).Seconds()
		}
		r.Checks = append(r.Checks, Result{c.Name, c.failing, c.Optional, age})
	}
	return r, nil
}

// register adds the service to the server.
func (h *Health) register() error {
	return errors.Join(
		weft.Handle(h.srv, Service+".Check", func(_ context.Context, q *Query) (*Report, error) { return h.Report(q.Service) },
			weft.Idempotent(), weft.Doc("Check says how a service is, or the whole server for \"\".")),
		weft.HandleServerStream(h.srv, Service+".Watch", h.watchService,
			weft.Doc("Watch sends how a service is, at once and whenever that changes. It ends when the server shuts down.")))
}

// watchService answers Watch.
func (h *Health) watchService(ctx context.Context, q *Query, out *weft.Sender[Report]) error {
	last := ""
	for {
		changed := h.Changed()
		r, err := h.Report(q.Service)
		if err != nil {
			return err
		}
		if r.Status != last {
			if last = r.Status; out.Send(r) != nil {
				return nil // the caller has gone
			}
		}
		if r.Status == Draining.String() {
			return nil // so that the server need not wait for the stream
		}
		select {
		case <-changed:
		case <-h.srv.Draining():
		case <-ctx.Done():
			return nil
		}
	}
}
