// Package live shows what servers do while they do it.
package live

import (
	"context"
	"errors"
	"fmt"
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
}

// follow reads streams of several servers until all have ended, or ctx has. use gets the messages one at
// a time, and ends all with an error. A server that fails is told of; the error is that of the last one
// if all fail.
func follow[T, R any](ctx context.Context, p *shell.Shell, servers []string, open func(context.Context, *target.Target) (*weft.Stream[T, R], error), use func(message[T]) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan message[T])
	var all sync.WaitGroup
	failed := make([]error, len(servers))
	for n, server := range servers {
		all.Go(func() { failed[n] = read(ctx, p, server, open, messages) })
	}
	// It ends with the streams.
	go func() {
		all.Wait()
		close(messages)
	}()
	var ended error
	for m := range messages {
		if ended != nil {
			continue // until the streams have ended
		}
		if ended = use(m); ended != nil {
			cancel()
		}
	}
	switch {
	case errors.Is(ended, errEnough):
		return nil
	case ended != nil:
		return ended
	case ctx.Err() != nil:
		return ctx.Err()
	}
	good := 0
	for n, err := range failed {
		if err == nil {
			good++
		} else if len(servers) > 1 {
			fmt.Fprintf(p.Log, "weft: %s: %v\n", servers[n], err)
		}
	}
	if good == 0 {
		return target.NoAdmin(errors.Join(failed...))
	}
	return nil
}

// errEnough ends follow without an error.
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
		case to <- message[T]{server, value}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
