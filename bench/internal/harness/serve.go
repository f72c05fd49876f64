package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weftrpc/weft/bench/internal/msg"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// Peers finds a peer by its name.
type Peers []Peer

// Find returns the peer of that name, or an error that lists the names there are.
func (ps Peers) Find(name string) (Peer, error) {
	names := make([]string, len(ps))
	for i, p := range ps {
		if p.Name() == name {
			return p, nil
		}
		names[i] = p.Name()
	}
	return nil, fmt.Errorf("unknown peer %q; there are %q", name, names)
}

// Serve is the server child: it reads its task from in, serves, and answers
// orders on out until in ends.
func Serve(ctx context.Context, peers Peers, in io.Reader, out io.Writer) error {
	control := newLines(in, out)
	err := serve(ctx, peers, control)
	if err != nil {
		// The parent prints what the event says; if it is gone nobody needs to know.
		_ = control.send(event{Event: eventFailed, Error: err.Error()})
	}
	return err
}

func serve(ctx context.Context, peers Peers, control *lines) error {
	var task Task
	if err := control.receive(&task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	peer, err := peers.Find(task.Peer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, task.lifetime())
	defer cancel()

	ready := make(chan string, 1)
	served := make(chan error, 1)
	go func() { // ends with ctx
		served <- peer.Serve(ctx, ServeConfig{
			Addr:    "127.0.0.1:0",
			Codec:   task.Codec,
			Service: msg.NewService(),
			Ready:   func(addr string) { ready <- addr },
		})
	}()
	select {
	case addr := <-ready:
		if err := control.send(event{Event: eventReady, Addr: addr}); err != nil {
			return err
		}
	case err := <-served:
		return fmt.Errorf("%s ended before it listened: %v", task.Peer, err)
	}

	obeyed := make(chan error, 1)
	go func() { obeyed <- obey(control) }() // ends when in ends, at the latest with the process
	select {
	case err := <-obeyed:
		cancel()
		return errors.Join(err, awaitServer(served))
	case err := <-served:
		return fmt.Errorf("%s stopped serving: %v", task.Peer, err)
	}
}

// obey answers orders until the parent closes the input.
func obey(control *lines) error {
	for {
		var o order
		if err := control.receive(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if o.Order != orderUsage {
			return fmt.Errorf("the server child was told %q, which it does not know", o.Order)
		}
		usage, err := procstat.Self()
		if err != nil {
			return err
		}
		if err := control.send(event{Event: eventUsage, Usage: &usage}); err != nil {
			return err
		}
	}
}

// awaitServer gives a server that was told to stop a moment to do so.
func awaitServer(served <-chan error) error {
	select {
	case err := <-served:
		return err
	case <-time.After(drainTime):
		return fmt.Errorf("the server did not stop within %v", drainTime)
	}
}
