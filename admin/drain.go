package admin

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/fence"
)

// DrainRequest is the request of weft.Admin.Drain.
type DrainRequest struct {
	Shutdown bool   `json:"shutdown,omitempty" weft:"1" doc:"shut the server down when the calls under way have ended; otherwise it goes on, published as draining"`
	Undo     bool   `json:"undo,omitempty" weft:"2" doc:"publish the instances again as before an earlier Drain"`
	Reason   string `json:"reason,omitempty" weft:"3" doc:"for the log of the server"`
}

// Drained says what Drain has done.
type Drained struct {
	Phase    string   `json:"phase" weft:"1" doc:"serving, or shutting down"`
	Services []string `json:"services,omitempty" weft:"2" doc:"whose instances were changed in the registry"`
	InFlight int      `json:"in_flight" weft:"3" doc:"calls that waited or ran at this moment, this one among them"`
}

// drains notes what Drain has changed.
type drains struct {
	mu      sync.Mutex
	drained map[string]bool // the services that are draining by it; what others have set is not taken back
	down    sync.Once
}

// drain answers Drain.
func (s *service) drain(ctx context.Context, req *DrainRequest) (*Drained, error) {
	if req.Shutdown && req.Undo {
		return nil, weft.Errorf(weft.InvalidArgument, "Shutdown and Undo are both set: a shutdown cannot be undone")
	}
	out := &Drained{InFlight: s.srv.Stats().InFlight}
	if req.Shutdown {
		s.changed(ctx, "the server is shut down by an operator", slog.String("reason", req.Reason))
		s.drains.down.Do(s.shutDown)
		out.Phase = weft.ShuttingDown.String()
		return out, nil
	}
	var err error
	out.Services, err = s.publish(req.Undo)
	what := "the instances of the server were set draining by an operator"
	if req.Undo {
		what = "the instances of the server were published again by an operator"
	}
	if err == nil || len(out.Services) > 0 { // some may have been changed before one failed
		s.changed(ctx, what, slog.Any("services", out.Services), slog.String("reason", req.Reason))
	}
	if err != nil {
		return nil, err
	}
	out.Phase = s.srv.Phase().String()
	return out, nil
}

// shutDown begins to shut the server down, and returns while this call is one of those that it
// waits for.
func (s *service) shutDown() {
	if s.cfg.Shutdown != nil {
		// It ends with the function of the program.
		go (&fence.Fence{Log: s.log}).Run("Config.Shutdown of package admin", nil, s.cfg.Shutdown)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.srv.Config().DrainTimeout)
	// It ends with the shutdown, which DrainTimeout bounds.
	go func() {
		defer cancel()
		if err := s.srv.Shutdown(ctx); err != nil {
			s.log.Warn("the shutdown that an operator began has cut calls off", "error", err)
		}
	}()
}

// publish sets the instances of all services but weft.Admin draining, or back. It returns which
// were changed.
func (s *service) publish(undo bool) (changed []string, err error) {
	s.drains.mu.Lock()
	defer s.drains.mu.Unlock()
	if s.srv.Config().Registry == nil {
		return nil, weft.Errorf(weft.FailedPrecondition,
			"the server has no registry (ServerConfig.Registry), so clients cannot be told that it drains: use Shutdown")
	}
	if s.drains.drained == nil {
		s.drains.drained = make(map[string]bool)
	}
	for _, name := range published(s.srv) {
		if undo && !s.drains.drained[name] {
			continue
		}
		did := false
		err := s.srv.SetInstance(name, func(i *weft.Instance) {
			switch {
			case undo && i.State == weft.Draining:
				i.State, did = weft.On, true
			case !undo && i.State == weft.On:
				i.State, did = weft.Draining, true
			}
		})
		switch {
		case weft.CodeOf(err) == weft.NotFound: // it was unregistered since
		case err != nil:
			return changed, err
		case undo:
			delete(s.drains.drained, name)
		case did:
			s.drains.drained[name] = true
		}
		if did {
			changed = append(changed, name)
		}
	}
	return changed, nil
}

// published are the names under which clients find services of the server in its registry, those of aliases among them.
func published(srv *weft.Server) []string {
	all := srv.ServiceNames()
	maps.DeleteFunc(all, func(name string, of []string) bool { // what operators look at stays, by whatever name
		return name == Service || !slices.ContainsFunc(of, func(service string) bool { return service != Service })
	})
	return slices.Sorted(maps.Keys(all))
}
