package weft

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/weftrpc/weft/internal/announce"
	"github.com/weftrpc/weft/internal/wire"
)

// Registry is where a server makes its services known to clients. Package registry has them.
type Registry interface {
	// Register publishes an instance and keeps it published until the registration is closed, however often the registry goes away and comes
	// back. It does not wait for the registry. What is refused while the server serves is tried again, unless with InvalidArgument or the like.
	Register(instance Instance) (Registration, error)
}

// Registration is a published instance.
type Registration interface {
	// Update replaces what is published; Service and ID must stay the same.
	Update(instance Instance) error
	// Close withdraws the instance at once, and returns when that is done or ctx has
	// ended. Before it has returned the server does not register the service anew.
	Close(ctx context.Context) error
}

// newAnnouncer makes the announcer of a server, nil if its configuration has no registry. The configured instances are checked in any case.
func newAnnouncer(s *Server) (*announce.Announcer, error) {
	c := &s.cfg
	a, err := announce.New(announce.Config{
		Register: func(i Instance) (announce.Registration, error) { return c.Registry.Register(i) },
		Every:    c.Instance, Own: c.Instances, Services: s.ServiceNames, Idempotent: s.Services.idempotent,
		Work: s.host.work, InFlight: s.inFlight, Code: func(err error) wire.Code { return wire.Code(CodeOf(err)) }, Fence: &s.host.fence, Log: c.Logger,
	})
	if err != nil {
		return nil, Errorf(InvalidArgument, "weft: %w", err)
	}
	if c.Registry == nil {
		return nil, nil
	}
	return a, nil
}

// announce publishes the server's services with the address of a listener, unless it is published already. It is called when the listener
// is ready. After an error nothing is published, and another listener can be announced.
func (s *Server) announce(l net.Listener) error {
	if s.announcer == nil || s.stopping() {
		return nil
	}
	begun, err := s.announcer.Begin(l.Addr(), s.schemeOf(l))
	if _, ok := errors.AsType[*announce.AddressError](err); ok {
		return Errorf(FailedPrecondition, "weft: %w", err)
	}
	if err != nil {
		return Errorf(InvalidArgument, "weft: %w", err)
	}
	if begun && s.cfg.LoadReportInterval > 0 && s.conns.Enter() {
		// It ends with the server.
		go func() {
			defer s.conns.Leave()
			s.announcer.Report(s.life, s.cfg.LoadReportInterval)
		}()
	}
	return nil
}

// SetInstance changes what is published of a service, such as its weight, tags or state, and publishes it at once; the service "" is all that
// the server has now and gets later. It holds until it is changed again: through load reports, and when the service is removed and
// registered anew. Before the server serves, it changes what will be published; after its shutdown it has no effect.
//
// change gets a copy of the instance as it is configured or was set before. Service, ID, and Address must stay as they are; Load and Started
// are the server's own. The error says that the server has no registry or no such service, or what is wrong with the changed instance;
// then nothing has changed.
//
// SetInstance may be called from any goroutine. Calls of change run one at a time, and must not use the server.
func (s *Server) SetInstance(service string, change func(*Instance)) error {
	if s.err != nil {
		return s.err
	}
	if s.announcer == nil {
		return Errorf(FailedPrecondition, "weft: set instance of service %q: ServerConfig.Registry is nil", service)
	}
	err := s.announcer.Change(service, change)
	if err == nil {
		return nil
	}
	if errors.Is(err, announce.ErrNoService) {
		return Errorf(NotFound, "weft: set instance: there is no service %q", service)
	}
	if _, ok := errors.AsType[*announce.ChangeError](err); ok {
		return Errorf(InvalidArgument, "weft: set instance of service %q: %w", service, err)
	}
	return Errorf(InvalidArgument, "weft: %w", err)
}

// withdraw begins to take the services back from the registry. The result is closed when that has ended, or was given up.
func (s *Server) withdraw() <-chan struct{} {
	done := make(chan struct{})
	if s.announcer == nil {
		close(done)
		return done
	}
	s.exec.Go(func() {
		defer close(done)
		s.announcer.Withdraw()
	})
	return done
}

// patience is how long a shutdown waits for the registry before it drains. The calls in flight need the rest of its time.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(announce.Timeout, time.Until(deadline)/4)
	}
	return announce.Timeout
}

// work adds up the statistics of all methods, those that were removed among them. Calls that operate the server are no load.
func (h *host) work() announce.Work {
	var w announce.Work
	for name, s := range h.summaries() {
		if operates(name) {
			continue
		}
		w.Calls += s.Calls()
		w.Timed += s.Timed
		w.Sum += s.Sum
	}
	return w
}

// inFlight is the number of calls that run now, without those that operate the server.
func (s *Server) inFlight() int {
	n := 0
	for _, p := range s.Peers() {
		running := p.incoming()
		if running == 0 {
			continue
		}
		for _, c := range p.OpenCalls() {
			if operates(c.Method) {
				running--
			}
		}
		n += max(running, 0) // one may have begun meanwhile
	}
	return n
}

// operates reports whether a method is of a service by which tools operate a server: administration,
// health and reflection. Its streams last for as long as they are watched.
func operates(method string) bool {
	for _, prefix := range []string{"weft.Admin.", "weft.v1.Health.", "grpc.health.", "grpc.reflection.", "grpc.channelz."} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}
