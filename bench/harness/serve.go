package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
	"github.com/weftrpc/weft/bench/msg"
)

// serve serves until the input ends, and answers orders meanwhile.
func serve(ctx context.Context, t *task, lines *lines) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan string, 1)
	served := make(chan error, 1)
	go func() { // ends with ctx
		served <- t.peer.Serve(ctx, ServeConfig{
			Addr:    t.addrs[0],
			Codec:   t.codec,
			Service: msg.NewService(),
			Ready:   func(addr string) { ready <- addr },
		})
	}()
	select {
	case addr := <-ready:
		if err := lines.send(contract.Event{Event: contract.Ready, Addr: addr}); err != nil {
			return err
		}
	case err := <-served:
		return fmt.Errorf("%s ended before it listened: %v", t.peer.Name(), err)
	}
	obeyed := make(chan error, 1)
	go func() { obeyed <- obey(lines) }() // ends when the input does, at the latest with the process
	select {
	case err := <-obeyed:
		cancel()
		return errors.Join(err, awaitServer(served))
	case err := <-served:
		if ctx.Err() != nil { // by a signal
			return err
		}
		return fmt.Errorf("%s stopped serving: %v", t.peer.Name(), err)
	}
}

// obey answers orders until the parent closes the input.
func obey(lines *lines) error {
	for {
		switch order, err := lines.order(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case order != contract.OrderUsage:
			return fmt.Errorf("serve was told %q, which it does not know", order)
		}
		if err := lines.send(contract.Event{Event: contract.Usage, Allocs: procstat.Mallocs()}); err != nil {
			return err
		}
	}
}

// awaitServer gives a server that is to stop a moment to do so.
func awaitServer(served <-chan error) error {
	select {
	case err := <-served:
		return err
	case <-time.After(stopTime):
		return fmt.Errorf("the server did not stop within %v", stopTime)
	}
}
