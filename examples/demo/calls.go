package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// connect makes the clients, and waits until they know the servers.
func (d *demo) connect() error {
	d.load = newLoad(d.ctx)
	for range clients {
		c, err := d.newClient()
		if err != nil {
			return err
		}
		d.load.clients = append(d.load.clients, c)
	}
	for _, c := range d.load.clients {
		if _, known := d.until(startTime, func() bool { return c.knows(d.ctx) == len(d.fleet.servers) }); !known {
			return fmt.Errorf("the clients do not know the servers after %v: %v", startTime, c.Explain(d.ctx, "Ledger.Read", nil))
		}
	}
	return nil
}

// startTime is how long the first servers may take to become known.
const startTime = 10 * time.Second

// introduce shows single calls of each kind.
func (d *demo) introduce() error {
	c := d.load.clients[0]
	heading("Calls")
	line("Servers A, B and C have registered with %v, which is", c.registry.Name())
	line("'weft up'; the clients have no other address.")
	fmt.Println()
	for _, shown := range []func(context.Context, *client) error{typed, d.speed, stream, push, cancelled, failures} {
		if err := shown(d.ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// typed makes one call.
func typed(ctx context.Context, c *client) error {
	request, err := benchmark.New()
	if err != nil {
		return err
	}
	reply, err := weft.Invoke[message](ctx, c, "Ledger.Read", request)
	if err != nil {
		return err
	}
	line("%-11s Ledger.Read, %d bytes, went to server %s and came back right", "a call", benchmark.Size, reply.GetField4())
	return benchmark.Check(reply)
}

// speed makes calls without any work as fast as they go.
func (d *demo) speed(ctx context.Context, _ *client) error {
	const callers = 100
	until := time.Now().Add(d.times.speed)
	warm := until.Add(-d.times.speed / 2)
	tallies := make([]*tally, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		tallies[i] = newTally()
		wg.Go(func() { errs[i] = echo(ctx, d.load.clients[i%clients], tallies[i], warm, until) })
	}
	wg.Wait()
	all := newTally()
	for _, t := range tallies {
		all.took = append(all.took, t.took...)
	}
	rate := float64(len(all.took)) / (d.times.speed / 2).Seconds()
	line("%-11s %s calls/s by %d callers of Ledger.Echo, p99 %s", "at speed", count(rate), callers, brief(all.quantile(0.99)))
	return errors.Join(errs...)
}

// echo calls one call after the other until a time, and counts from another on.
func echo(ctx context.Context, c *client, t *tally, from, until time.Time) error {
	request, err := benchmark.New()
	if err != nil {
		return err
	}
	for {
		began := time.Now()
		reply, err := weft.Invoke[message](ctx, c, "Ledger.Echo", request)
		if err == nil {
			err = benchmark.Check(reply)
		}
		now := time.Now()
		switch {
		case err != nil:
			return err
		case now.After(until):
			return nil
		case began.After(from):
			t.add("Ledger.Echo", "", now.Sub(began), nil)
		}
	}
}

// stream sends messages and receives the answers, both at the same time.
func stream(ctx context.Context, c *client) error {
	const messages = 1000
	s, err := weft.OpenStream[message, message](ctx, c, "Ledger.Follow")
	if err != nil {
		return err
	}
	request, err := benchmark.New()
	if err != nil {
		return err
	}
	began := time.Now()
	sent := make(chan error, 1)
	// It ends with the last message, or with the stream.
	go func() {
		for i := range int32(messages) {
			request.Field3 = proto.Int32(i)
			if err := s.Send(request); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.CloseSend()
	}()
	received := int32(0)
	for reply, err := range s.All() {
		if err == nil {
			err = benchmark.Check(reply)
		}
		if err != nil {
			return err
		}
		if reply.GetField3() != received {
			return fmt.Errorf("message %d came where %d was due", reply.GetField3(), received)
		}
		received++
	}
	if err := <-sent; err != nil {
		return err
	}
	if received != messages {
		return fmt.Errorf("%d messages came back, %d were sent", received, messages)
	}
	line("%-11s %s messages to Ledger.Follow and as many back, in %s", "a stream", count(messages), brief(time.Since(began)))
	return nil
}

// push makes a call whose handler calls back.
func push(ctx context.Context, c *client) error {
	answer, err := weft.Invoke[Answer](ctx, c, "Ledger.Close", &Nothing{})
	if err != nil {
		return err
	}
	line("%-11s the handler of Ledger.Close asks its caller: %s", "a callback", answer.Text)
	return nil
}

// cancelled cancels a call while its handler runs.
func cancelled(ctx context.Context, c *client) error {
	given, cancel := context.WithCancel(ctx)
	defer cancel()
	var at, back time.Time
	result := make(chan error, 1)
	// It ends with the call, which is cancelled.
	go func() {
		err := c.Call(given, "Ledger.Wait", &Nothing{}, nil, weft.WithTimeout(startTime))
		back = time.Now()
		result <- err
	}()
	select {
	case <-c.reader.began:
	case err := <-result:
		return fmt.Errorf("Ledger.Wait returned %v before it was cancelled", err)
	}
	at = time.Now()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the cancelled call returned %v", err)
	}
	select {
	case seen := <-c.reader.ended:
		line("%-11s the caller was free after %s, its handler after %s", "a cancel", brief(back.Sub(at)), brief(seen.Sub(at)))
		return nil
	case <-time.After(patience):
		return errors.New("the handler of a cancelled call was not cancelled")
	}
}

// failures shows an error of each outcome that a single call can have.
func failures(ctx context.Context, c *client) error {
	for _, f := range []struct {
		method  string
		code    weft.Code
		outcome weft.Outcome
		meaning string
	}{
		{"Ledger.Find", weft.NotFound, weft.Executed, "the handler ran"},
		{"Ledger.Nope", weft.Unimplemented, weft.Refused, "no handler ran"},
		{"Absent.Find", weft.Unavailable, weft.NotSent, "nothing was sent"},
	} {
		err := c.Call(ctx, f.method, &Number{4711}, nil, weft.WithTimeout(patience/10))
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != f.code || e.Outcome != f.outcome {
			return fmt.Errorf("%s returned %v, want %v and %v", f.method, err, f.code, f.outcome)
		}
		line("%-11s %-12s %-14v %-9v %s", "an error", f.method, e.Code, e.Outcome, f.meaning)
	}
	return nil
}
