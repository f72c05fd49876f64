package grpc

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/health"
)

// healthRequest and healthResponse are the messages of grpc.health.v1.
type (
	healthRequest struct {
		Service string `weft:"1"` // "": the whole server
	}
	healthResponse struct {
		Status int32 `weft:"1"`
	}
	healthListRequest struct{}
	healthList        struct {
		Statuses map[string]*healthResponse `weft:"1"` // by service; "": the whole server
	}
)

// The statuses of grpc.health.v1.
const (
	healthServing        = 1
	healthNotServing     = 2
	healthServiceUnknown = 3
)

// healthService is the name of the service.
const healthService = "grpc.health.v1.Health"

// RegisterHealth registers the service grpc.health.v1.Health with Check, List and Watch, which answers for r, usually a *health.Health of the server.
// While the server drains it is not serving; then Watch ends, so that the server need not wait for it.
func RegisterHealth(srv *weft.Server, r health.Reader) error {
	h := healthOf{srv, r}
	return errors.Join(
		weft.Handle(srv, healthService+".Check", h.check, weft.Idempotent(), weft.Doc("Check says how a service is, or the whole server for \"\".")),
		weft.Handle(srv, healthService+".List", h.list, weft.Idempotent(), weft.Doc("List says how all services are, and the whole server.")),
		weft.HandleServerStream(srv, healthService+".Watch", h.watch, weft.Doc("Watch sends how a service is, at once and whenever that changes.")))
}

// healthOf answers for a server.
type healthOf struct {
	srv    *weft.Server
	reader health.Reader
}

// status is that of a service, as grpc.health.v1 has it.
func (h healthOf) status(service string) int32 {
	s, ok := h.reader.Status(service)
	switch {
	case !ok:
		return healthServiceUnknown
	case s == health.Serving:
		return healthServing
	default:
		return healthNotServing
	}
}

func (h healthOf) check(_ context.Context, q *healthRequest) (*healthResponse, error) {
	s := h.status(q.Service)
	if s == healthServiceUnknown {
		return nil, weft.Errorf(weft.NotFound, "there is no service %q here", q.Service)
	}
	return &healthResponse{s}, nil
}

func (h healthOf) list(context.Context, *healthListRequest) (*healthList, error) {
	all := map[string]*healthResponse{"": {h.status("")}}
	for service := range h.srv.ServiceNames() {
		if status := h.status(service); status != healthServiceUnknown {
			all[service] = &healthResponse{status}
		}
	}
	return &healthList{all}, nil
}

func (h healthOf) watch(ctx context.Context, q *healthRequest, out *weft.Sender[healthResponse]) error {
	last := int32(-1)
	for {
		changed := h.reader.Changed()
		if s := h.status(q.Service); s != last {
			if last = s; out.Send(&healthResponse{s}) != nil {
				return nil // the caller has gone
			}
		}
		select {
		case <-changed:
		case <-h.srv.Draining():
			if last == healthServing {
				_ = out.Send(&healthResponse{healthNotServing}) // the caller may have gone
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
