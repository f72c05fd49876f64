// Package live shows what servers do while they do it.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

// addresses are the servers that a command is about: the one at an address, or those of a service in
// the registry.
func addresses(ctx context.Context, p *shell.Shell, address, service string) ([]string, error) {
	if address == "" {
		address = p.Settings.Server
	}
	if address != "" {
		return []string{address}, nil
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
	defer reg.Close()
	snapshot, err := catalog.Ask(ctx, reg, service)
	if err != nil {
		return nil, err
	}
	if len(snapshot.Instances) == 0 {
		return nil, catalog.Unknown(ctx, a, reg, service)
	}
	var all []string
	for _, i := range snapshot.Instances {
		all = append(all, i.Address)
	}
	return all, nil
}

// message is what came from one of several servers.
type message[T any] struct {
	server string
	value  *T
	err    error // the last message of a server that fails; value is nil
}

// follow reads streams of several servers until all have ended, or ctx has. use gets the messages one at
// a time, and ends all with an error. Of several servers each one that fails is told of on log at once. The
// error is not nil if a server has failed, or has not sent anything when use returns errEnough.
func follow[T, R any](ctx context.Context, p *shell.Shell, log io.Writer, servers []string, open func(context.Context, *target.Target) (*weft.Stream[T, R], error), use func(message[T]) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan message[T])
	var all sync.WaitGroup
	for _, server := range servers {
		all.Go(func() {
			if err := read(ctx, p, server, open, messages); err != nil {
				messages <- message[T]{server: server, err: err} // it is received until all have ended
			}
		})
	}
	// It ends with the streams.
	go func() {
		all.Wait()
		close(messages)
	}()
	var ended error
	var failed []error
	missing := func(server string, err error) {
		failed = append(failed, err)
		if len(servers) > 1 {
			fmt.Fprintf(log, "weft: %s is not shown: %v\n", server, target.NoAdmin(err))
		}
	}
	sent := make(map[string]bool) // servers that have sent a message, or have failed
	for m := range messages {
		if ended != nil || m.err != nil && ctx.Err() != nil {
			continue // until the streams have ended
		}
		sent[m.server] = true
		if m.err != nil {
			missing(m.server, m.err)
		}
		if ended = use(m); ended != nil {
			cancel()
		}
	}
	switch {
	case errors.Is(ended, errEnough):
		for _, server := range servers {
			if !sent[server] {
				missing(server, weft.Errorf(weft.Unavailable, "it has not answered yet"))
			}
		}
	case ended != nil:
		return ended
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if len(failed) == 0 {
		return nil
	}
	err := target.NoAdmin(errors.Join(failed...))
	if len(servers) > 1 {
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

// read reads the stream of one server.
func read[T, R any](ctx context.Context, p *shell.Shell, server string, open func(context.Context, *target.Target) (*weft.Stream[T, R], error), to chan<- message[T]) error {
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
	for value, err := range s.All() {
		if err != nil {
			return err
		}
		select {
		case to <- message[T]{server: server, value: value}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
