package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

type message = benchmark.BenchmarkMessage

// showCalls shows the sections from the calls to the errors.
func showCalls(ctx context.Context, c *weft.Client, quick bool) error {
	line("process %d is a client, and connected to it", os.Getpid())
	rounds := 10_000
	if quick {
		rounds /= 100
	}
	for _, section := range []func() error{
		func() error { return unary(ctx, c, rounds) },
		func() error { return async(ctx, c, rounds/10) },
		func() error { return stream(ctx, c, rounds) },
		func() error { return cancelled(ctx, c) },
		func() error { return failures(ctx, c) },
	} {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

// unary makes calls one after the other.
func unary(ctx context.Context, c *weft.Client, calls int) error {
	heading(2, "Calls")
	request, err := benchmark.New()
	if err != nil {
		return err
	}
	began := time.Now()
	for range calls {
		reply, err := weft.Invoke[message](ctx, c, "Hello.Say", request)
		if err != nil {
			return err
		}
		if err := benchmark.Check(reply); err != nil {
			return err
		}
	}
	took := time.Since(began)
	line("%s calls of Hello.Say one after the other in %s, %s each", count(calls), short(took), short(took/time.Duration(calls)))
	line("every reply was %s", good("right"))
	return nil
}

// async makes many calls at once from one goroutine.
func async(ctx context.Context, c *weft.Client, calls int) error {
	heading(3, "Asynchronous calls")
	request, err := benchmark.New()
	if err != nil {
		return err
	}
	began := time.Now()
	done := make(chan *weft.Call, calls)
	for range calls {
		c.Go(ctx, "Hello.Say", request, new(message), done)
	}
	begun := time.Since(began)
	for range calls {
		call := <-done
		if call.Error != nil {
			return call.Error
		}
		if err := benchmark.Check(call.Reply.(*message)); err != nil {
			return err
		}
	}
	line("%s calls begun by one goroutine in %s, all answered after %s", count(calls), short(begun), short(time.Since(began)))
	line("every reply was %s", good("right"))
	return nil
}

// stream sends messages and receives the answers, both at the same time.
func stream(ctx context.Context, c *weft.Client, messages int) error {
	heading(4, "A stream")
	s, err := weft.OpenStream[message, message](ctx, c, "Hello.Chat")
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
		for i := range messages {
			request.Field3 = proto.Int32(int32(i))
			if err := s.Send(request); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.CloseSend()
	}()
	received := 0
	for reply, err := range s.All() {
		if err != nil {
			return err
		}
		if err := benchmark.Check(reply); err != nil {
			return err
		}
		if int(reply.GetField3()) != received {
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
	took := time.Since(began)
	line("%s messages to Hello.Chat and as many back in %s, %s a second each way", count(messages), short(took),
		count(float64(messages)/took.Seconds()))
	line("every one was %s and in its place", good("right"))
	return nil
}

// cancelled gives a call up and asks the server what became of it.
func cancelled(ctx context.Context, c *weft.Client) error {
	const patience = 50 * time.Millisecond
	heading(5, "A cancelled call")
	began := time.Now()
	given, cancel := context.WithCancel(ctx)
	var at time.Time
	time.AfterFunc(patience, func() { at = time.Now(); cancel() })
	err := c.Call(given, "Hello.Wait", &Nothing{}, nil)
	back := time.Now()
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the cancelled call returned %v", err)
	}
	seen, seenErr := weft.Invoke[Number](ctx, c, "Hello.Cancelled", &Nothing{})
	if seenErr != nil {
		return seenErr
	}
	line("Hello.Wait was called, and cancelled after %s", short(at.Sub(began)))
	line("the caller had its error, code %v, %s after the cancellation", weft.CodeOf(err), short(back.Sub(at)))
	line("the handler, in the server process, %s %s after it", good("saw its context end"), short(time.Unix(0, seen.N).Sub(at)))
	return nil
}

// failures shows an error of each outcome that a single call can bring about.
func failures(ctx context.Context, c *weft.Client) error {
	heading(6, "Errors")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.Close() // now nobody listens there
	nobody, err := weft.Dial(ctx, l.Addr().String(), &weft.ClientConfig{Lazy: true, FailFast: true})
	if err != nil {
		return err
	}
	defer nobody.Close()
	line("%-27s %-14s %-9s %-16s %s", "call", "code", "outcome", "reason", "which means")
	var first error
	for _, f := range []struct {
		client  *weft.Client
		method  string
		where   string
		code    weft.Code
		outcome weft.Outcome
		meaning string
	}{
		{c, "Hello.Find", "", weft.NotFound, weft.Executed, "the handler ran: this is its answer"},
		{c, "Hello.Nope", " (no such method)", weft.Unimplemented, weft.Refused, "no handler ran: may be made again"},
		{nobody, "Hello.Find", " (nobody listens)", weft.Unavailable, weft.NotSent, "nothing was sent: may be made again"},
	} {
		err := f.client.Call(ctx, f.method, &Number{4711}, nil)
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != f.code || e.Outcome != f.outcome {
			return fmt.Errorf("%s returned %v, want %v and %v", f.method, err, f.code, f.outcome)
		}
		line("%-27s %-14v %-9v %-16s %s", f.method+f.where, e.Code, e.Outcome, e.Reason, f.meaning)
		if first == nil {
			first = err
		}
	}
	line("The first one in full: %v", first)
	return nil
}
