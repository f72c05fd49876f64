// Package live shows what servers do while they do it.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/registry"
)

// fleet are the servers that a command is about.
type fleet struct {
	servers []string        // those that there are at first
	changes <-chan []string // all of them, whenever there are others; nil: they stay the same
	close   func()
}

// named reports whether messages say which server they are from: there are several, or may be.
func (f *fleet) named() bool { return len(f.servers) > 1 || f.changes != nil }

// fleetOf finds the server at an address, or those of a service in the registry. A command that is lasting is about all that
// the service has as time passes.
func fleetOf(ctx context.Context, p *shell.Shell, address, service string, lasting bool) (*fleet, error) {
	if address == "" {
		address = p.Settings.Server
	}
	if address != "" {
		return &fleet{servers: []string{address}, close: func() {}}, nil
	}
	if service == "" {
		return nil, fmt.Errorf("name a server by its address, or a service in the registry; %w", shell.ErrUsage)
	}
	ctx, cancel := target.Within(ctx, p)
	defer cancel()
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	end := func() { _ = reg.Close() } // it has registered nothing
	snapshot, err := catalog.Ask(ctx, reg, service)
	if err == nil && len(snapshot.Instances) == 0 {
		err = catalog.Unknown(ctx, a, reg, service)
	}
	if err != nil {
		end()
		return nil, err
	}
	f := &fleet{servers: addressesOf(snapshot), close: end}
	if !lasting {
		return f, nil
	}
	changes := make(chan []string, 1)
	stop := reg.Watch(service, func(s *registry.Snapshot) {
		if s.Err != nil {
			return // the last list holds
		}
		select {
		case <-changes: // an older list
		default:
		}
		changes <- addressesOf(s)
	})
	f.changes, f.close = changes, func() { stop(); end() }
	return f, nil
}

// addressesOf are the addresses of instances, each once.
func addressesOf(s *registry.Snapshot) []string {
	all := []string{}
	for _, i := range s.Instances {
		if !slices.Contains(all, i.Address) {
			all = append(all, i.Address)
		}
	}
	return all
}

// message is what came from one of several servers.
type message[T any] struct {
	server string
	value  *T       // nil and without err: the server has answered, and has sent nothing yet
	err    error    // the server fails; value is nil
	all    []string // nothing came from a server, and these are all from now on
}

// againAfter is how long after a server has failed it is tried again, by a command that goes on without it.
const againAfter = 2 * time.Second

// readers read the streams of servers.
type readers[T any] struct {
	read     func(server string) error
	messages chan message[T]
	all      sync.WaitGroup

	mu      sync.Mutex
	running map[string]bool
}

// begin begins to read from those servers that are not read from.
func (r *readers[T]) begin(servers []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, server := range servers {
		if r.running[server] {
			continue
		}
		r.running[server] = true
		r.all.Go(func() {
			err := r.read(server)
			if err != nil {
				r.messages <- message[T]{server: server, err: err} // it is received until all have ended
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.running, server)
		})
	}
}

// keep begins to read from servers as they come, and again from those that have failed, until ctx ends.
func (r *readers[T]) keep(ctx context.Context, f *fleet) {
	ticker := time.NewTicker(againAfter)
	defer ticker.Stop()
	servers := f.servers
	for {
		select {
		case servers = <-f.changes:
			r.messages <- message[T]{all: servers}
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		r.begin(servers)
	}
}

// follow reads streams of several servers until all have ended, or ctx has; where the servers change, until ctx has. use gets
// the messages one at a time, and ends all with an error. A stream is whole with most messages, 0 is never: one that ends
// before that is one of a server that shuts down, which counts as a failure. Of several servers each one that fails is told
// of on log at once. The error is not nil if a server has failed, or has not sent anything when use returns errEnough; with
// errShown only if one has failed.
func follow[T, R any](ctx context.Context, p *shell.Shell, log io.Writer, f *fleet, most int, open func(context.Context, *target.Target) (*weft.Stream[T, R], error), use func(message[T]) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &readers[T]{messages: make(chan message[T]), running: make(map[string]bool)}
	r.read = func(server string) error { return read(ctx, p, server, most, open, r.messages) }
	r.begin(f.servers)
	if f.changes != nil {
		r.all.Go(func() { r.keep(ctx, f) })
	}
	// It ends with the streams.
	go func() {
		r.all.Wait()
		close(r.messages)
	}()
	var ended error
	var failed []error
	down := make(map[string]bool) // servers that have failed, and have sent nothing since
	missing := func(server string, err error) {
		if down[server] {
			return // it was told
		}
		down[server] = true
		if f.changes == nil { // otherwise ctx ends it, and the errors of a long time would be kept for nothing
			failed = append(failed, err)
		}
		if f.named() {
			fmt.Fprintf(log, "weft: %s is not shown: %v\n", server, target.NoAdmin(err))
		}
	}
	sent := make(map[string]bool) // servers that have sent a message, or have failed
	for m := range r.messages {
		if ended != nil || m.err != nil && ctx.Err() != nil {
			continue // until the streams have ended
		}
		if m.all == nil {
			switch {
			case m.err != nil:
				sent[m.server] = true
				missing(m.server, m.err)
			case m.value != nil:
				sent[m.server] = true
				delete(down, m.server)
			}
		}
		if ended = use(m); ended != nil {
			cancel()
		}
	}
	switch {
	case errors.Is(ended, errEnough):
		for _, server := range f.servers {
			if !sent[server] {
				missing(server, weft.Errorf(weft.Unavailable, "it has not answered yet"))
			}
		}
	case errors.Is(ended, errShown):
	case ended != nil:
		return ended
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if len(failed) == 0 {
		return nil
	}
	err := target.NoAdmin(errors.Join(failed...))
	if f.named() {
		return shell.Written(err)
	}
	return err
}

// lines is a writer for several goroutines.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes a line.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// errEnough ends follow.
var errEnough = errors.New("enough")

// errShown ends follow when each server has answered or failed, also where it has sent nothing.
var errShown = errors.New("enough is shown")

// read reads the stream of one server.
func read[T, R any](ctx context.Context, p *shell.Shell, server string, most int, open func(context.Context, *target.Target) (*weft.Stream[T, R], error), to chan<- message[T]) error {
	dialing, cancel := target.Within(ctx, p)
	defer cancel()
	t, err := target.Open(dialing, p, server)
	if err != nil {
		return err
	}
	defer t.Close()
	s, err := open(ctx, t)
	if err != nil {
		return err
	}
	defer s.Close()
	select {
	case to <- message[T]{server: server}:
	case <-ctx.Done():
		return ctx.Err()
	}
	received := 0
	for value, err := range s.All() {
		if err != nil {
			return err
		}
		received++
		select {
		case to <- message[T]{server: server, value: value}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if most <= 0 || received < most {
		return shell.Exit(errors.New("the server has shut down"), shell.ExitUnreachable)
	}
	return nil
}
