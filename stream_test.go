package weft_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
)

// streams registers a streaming method of each kind.
func streams(s *weft.Server) error {
	return errors.Join(
		weft.HandleServerStream(s, "Stream.Count", func(_ context.Context, a *Args, out *weft.Sender[Product]) error {
			for i := range a.A {
				if err := out.Send(&Product{i}); err != nil {
					return err
				}
			}
			return nil
		}),
		weft.HandleClientStream(s, "Stream.Sum", func(_ context.Context, in *weft.Receiver[Args]) (*Product, error) {
			p := &Product{}
			for {
				a, err := in.Recv()
				if errors.Is(err, io.EOF) {
					return p, nil
				}
				if err != nil {
					return nil, err
				}
				p.C += a.A
			}
		}),
		weft.HandleStream(s, "Stream.Mul", Shapes{}.Both),
		weft.HandleStream(s, "Stream.First", func(_ context.Context, st *weft.Stream[Args, Product]) error {
			_, err := st.Recv()
			return err
		}),
		weft.HandleStream(s, "Stream.Echo", func(_ context.Context, st *weft.Stream[string, string]) error {
			for msg, err := range st.All() {
				if err != nil {
					return err
				}
				if err := st.Send(msg); err != nil {
					return err
				}
			}
			return nil
		}))
}

func TestStreams(t *testing.T) {
	ctx := t.Context()
	c := start(t, nil, streams).dial(nil)

	many, err := weft.Subscribe[Product](ctx, c, "Stream.Count", &Args{A: 5000})
	must(t, err)
	if got := receive(t, many); len(got) != 5000 || !slices.IsSorted(got) {
		t.Errorf("Count: %d messages, in order: %v", len(got), slices.IsSorted(got))
	}
	if _, err := many.Recv(); err != io.EOF {
		t.Errorf("Recv behind the end: %v", err)
	}

	sum, err := weft.OpenStream[Args, Product](ctx, c, "Stream.Sum")
	must(t, err)
	for i := range 5000 {
		must(t, sum.Send(&Args{A: i}))
	}
	must(t, sum.CloseSend())
	wantError(t, sum.Send(&Args{}), weft.FailedPrecondition, weft.NotSent, "closed")
	if got := receive(t, sum); !slices.Equal(got, []int{5000 * 4999 / 2}) {
		t.Errorf("Sum: %v", got)
	}

	both, err := weft.OpenStream[Args, Product](ctx, c, "Stream.Mul")
	must(t, err)
	for i := range 100 { // in turns
		must(t, both.Send(&Args{i, 2}))
		if p, err := both.Recv(); err != nil || p.C != 2*i {
			t.Fatalf("Mul: %v, %v", p, err)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { // and both at once
		for i := range 5000 {
			must(t, both.Send(&Args{i, 3}))
		}
		must(t, both.CloseSend())
	})
	if got := receive(t, both); len(got) != 5000 || got[4999] != 3*4999 {
		t.Errorf("Mul: %d messages", len(got))
	}
	wg.Wait()
	if err := both.Context().Err(); err == nil {
		t.Error("the stream's context goes on after its end")
	}
}

// A method that ends before its caller has said all: that is told with io.EOF.
func TestSendAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil, streams).dial(nil)
		s, err := weft.OpenStream[Args, Product](t.Context(), c, "Stream.First")
		must(t, err)
		must(t, s.Send(&Args{}))
		synctest.Wait()
		if err := s.Send(&Args{}); err != io.EOF {
			t.Errorf("Send: %v, want io.EOF", err)
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("Recv: %v, want io.EOF", err)
		}
		must(t, s.CloseSend())
	})
}

// CloseAndRecv is for the one reply of a client stream; more and less are errors.
func TestCloseAndRecv(t *testing.T) {
	c := start(t, nil, func(s *weft.Server) error { return errors.Join(streams(s), failing(weft.Aborted)(s)) }).dial(nil)
	for _, tt := range []struct {
		method string
		send   []Args
		want   int
		code   weft.Code
		text   string
	}{
		{"Stream.Sum", []Args{{A: 1}, {A: 2}}, 3, 0, ""},
		{"Stream.Sum", nil, 0, 0, ""},
		{"Stream.Count", []Args{{A: 2}}, 0, weft.Unimplemented, "more than one reply"},
		{"Stream.Count", []Args{{A: 0}}, 0, weft.Unimplemented, "without a reply"},
		{"Fail.Stream", nil, 0, weft.Aborted, ""},
	} {
		s, err := weft.OpenStream[Args, Product](t.Context(), c, tt.method)
		must(t, err)
		for _, a := range tt.send {
			must(t, s.Send(&a))
		}
		p, err := s.CloseAndRecv()
		if weft.CodeOf(err) != tt.code || tt.code == 0 && p.C != tt.want {
			t.Errorf("%s after %v: %v, %v", tt.method, tt.send, p, err)
		} else if tt.code != 0 {
			wantText(t, err.Error(), tt.text)
		}
		if s.Context().Err() == nil {
			t.Errorf("%s after %v: the call is still open", tt.method, tt.send)
		}
	}
}

// TestCardinality calls methods that take one message with none and with two, on weft's own wire: both are Unimplemented, as in gRPC, and the
// handler does not run.
func TestCardinality(t *testing.T) {
	var ran atomic.Int32
	c := start(t, nil, func(s *weft.Server) error {
		return errors.Join(s.RegisterName("Shape", &counted{&ran}),
			weft.HandleServerStream(s, "Typed.Count", (&counted{&ran}).Count))
	}).dial(nil)
	for _, method := range []string{"Shape.Count", "Typed.Count"} {
		for n, code := range []weft.Code{weft.Unimplemented, 0, weft.Unimplemented, weft.Unimplemented} {
			ran.Store(0)
			s, err := weft.OpenStream[Args, Product](t.Context(), c, method)
			must(t, err)
			for range n {
				if err := s.Send(&Args{A: 2}); err != nil && n < 2 {
					t.Error(err)
				}
			}
			must(t, s.CloseSend())
			var last error
			got := 0
			for _, err := range s.All() {
				if last = err; err == nil {
					got++
				}
			}
			if weft.CodeOf(last) != code || code == 0 && got != 2 || code != 0 && (got != 0 || ran.Load() != 0) {
				t.Errorf("%s with %d messages: %d came, the handler ran %d times, %v", method, n, got, ran.Load(), last)
			}
		}
	}
	// A second message that is not one of its type is a second message all the same.
	odd, err := c.OpenStream(t.Context(), "Typed.Count", &Args{})
	must(t, err)
	must(t, odd.Send(&Args{}))
	must(t, odd.Send("text"))
	must(t, odd.CloseSend())
	if err := odd.Recv(&Product{}); weft.CodeOf(err) != weft.Unimplemented {
		t.Errorf("with a second message that is not of the type: %v", err)
	}
}

// counted counts how often its method runs.
type counted struct{ ran *atomic.Int32 }

func (c *counted) Count(_ context.Context, a *Args, out *weft.Sender[Product]) error {
	c.ran.Add(1)
	for i := range a.A {
		if err := out.Send(&Product{i}); err != nil {
			return err
		}
	}
	return nil
}

// Close gives a stream up, for both sides; behind the end it does nothing.
func TestStreamClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		c := start(t, nil, func(s *weft.Server) error { return errors.Join(streams(s), p.register(s)) }).dial(nil)
		s, err := weft.OpenStream[Args, Product](t.Context(), c, "Probe.HangStream")
		must(t, err)
		<-p.left
		received := make(chan error, 1)
		go func() { // this goroutine ends with the stream
			_, err := s.Recv()
			received <- err
		}()
		synctest.Wait()
		must(t, s.Close())
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v", err)
		}
		wantError(t, <-received, weft.Canceled, weft.OutcomeUnknown, "closed by the caller")
		wantError(t, s.Send(&Args{}), weft.Canceled, weft.OutcomeUnknown)
		must(t, s.Close())

		done, err := weft.Subscribe[Product](t.Context(), c, "Stream.Count", &Args{A: 1})
		must(t, err)
		receive(t, done)
		must(t, done.Close())
		if _, err := done.Recv(); err != io.EOF {
			t.Errorf("Close behind the end made it %v", err)
		}
	})
}

// A stream called as a unary method, and the other way round, is told so.
func TestStreamMismatch(t *testing.T) {
	ctx := t.Context()
	c := start(t, nil, func(s *weft.Server) error { return errors.Join(streams(s), s.Register(Arith{})) }).dial(nil)
	if e := wantError(t, c.Call(ctx, "Stream.Count", &Args{}, nil), weft.Unimplemented, weft.Refused, "is a streaming method"); e.Reason != weft.ReasonWrongKind {
		t.Errorf("reason %q", e.Reason)
	}
	if e := wantError(t, drainStream(ctx, c, "Arith.Mul"), weft.Unimplemented, weft.Refused, "is a unary method"); e.Reason != weft.ReasonWrongKind {
		t.Errorf("reason %q", e.Reason)
	}
	wantError(t, drainStream(ctx, c, "Stream.Nope"), weft.Unimplemented, weft.Refused, "no method Stream.Nope")
	s, err := weft.OpenStream[Args, Product](ctx, c, "Stream.Count")
	must(t, err)
	must(t, s.CloseSend()) // without the one message
	_, err = s.Recv()
	wantError(t, err, weft.Unimplemented, weft.Executed, "no message came")
	multiply(t, c)
}

// A sender waits for a receiver that does not keep up, by bytes, and delays
// no other. It learns of the end.
func TestStreamFlowControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 64 << 10
		var sent int
		stopped := make(chan error, 1)
		w := start(t, nil, func(s *weft.Server) error {
			return errors.Join(s.Register(Arith{}),
				weft.HandleServerStream(s, "Stream.Flood", func(_ context.Context, _ *Args, out *weft.Sender[string]) error {
					text := strings.Repeat("x", 1000)
					for {
						if err := out.Send(&text); err != nil {
							stopped <- err
							return err
						}
						sent++
					}
				}))
		})
		c := w.dial(&weft.ClientConfig{Limits: weft.Limits{StreamWindow: window}})
		ctx, cancel := context.WithCancel(t.Context())
		s, err := weft.Subscribe[string](ctx, c, "Stream.Flood", &Args{})
		must(t, err)
		synctest.Wait()
		ahead := sent
		if ahead < window/1100 || ahead > window/1000+2 {
			t.Errorf("%d messages of 1000 bytes were sent ahead into a window of %d", ahead, window)
		}
		multiply(t, c)
		for range 1000 {
			_, err := s.Recv()
			must(t, err)
		}
		synctest.Wait()
		if sent < 1000 || sent > 1000+2*ahead {
			t.Errorf("%d were sent when 1000 had been received", sent)
		}
		cancel()
		wantError(t, <-stopped, weft.Canceled, weft.OutcomeUnknown)
		_, err = lastOf(s)
		wantError(t, err, weft.Canceled, weft.OutcomeUnknown)
	})
}

// lastOf receives to the end and returns the last message and how it ended.
func lastOf[In, Out any](s *weft.Stream[In, Out]) (last *In, err error) {
	for {
		m, err := s.Recv()
		if err != nil {
			return last, err
		}
		last = m
	}
}

// Messages that cannot be sent or decoded end the stream, for both sides.
func TestStreamBadMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		ended := make(chan error, 1)
		w := start(t, &weft.ServerConfig{Limits: weft.Limits{MaxMessage: 1000}}, func(s *weft.Server) error {
			return errors.Join(streams(s), weft.HandleStream(s, "Stream.Wait", func(ctx context.Context, _ *weft.Stream[Args, Product]) error {
				<-ctx.Done()
				ended <- ctx.Err()
				return ctx.Err()
			}))
		})
		c := w.dial(nil)

		s, err := weft.OpenStream[string, string](ctx, c, "Stream.Wait")
		must(t, err)
		synctest.Wait() // for the handler to run
		long := strings.Repeat("x", 2000)
		wantError(t, s.Send(&long), weft.ResourceExhausted, weft.NotSent, "message of", "larger than the 1000")
		_, err = s.Recv()
		wantError(t, err, weft.ResourceExhausted, weft.OutcomeUnknown) // the handler runs
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler saw %v", err)
		}

		odd, err := weft.OpenStream[any, string](ctx, c, "Stream.Wait")
		must(t, err)
		synctest.Wait()
		f := any(func() {})
		wantError(t, odd.Send(&f), weft.InvalidArgument, weft.NotSent, "encode *interface {}")
		<-ended

		text, err := weft.OpenStream[string, Args](ctx, c, "Stream.Echo")
		must(t, err)
		word := "word"
		must(t, text.Send(&word))
		_, err = text.Recv() // a string into a struct
		wantError(t, err, weft.Internal, weft.Executed, "decode a message of the stream")

		args, err := weft.OpenStream[Args, string](ctx, c, "Stream.Echo")
		must(t, err)
		must(t, args.Send(&Args{})) // a struct into a string
		_, err = args.Recv()
		wantError(t, err, weft.InvalidArgument, weft.Executed, "decode a message of the stream")
	})
}

// Opening a stream waits for a connection as a call does, and not for the server.
func TestOpenStreamWaitsForConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, streams)
		c := w.dial(&weft.ClientConfig{Lazy: true})
		s, err := weft.Subscribe[Product](t.Context(), c, "Stream.Count", &Args{A: 3})
		must(t, err)
		if got := receive(t, s); len(got) != 3 {
			t.Errorf("%v", got)
		}
		w.srv.Close()
		synctest.Wait()
		began := time.Now()
		_, err = weft.OpenStream[Args, Product](t.Context(), c, "Stream.Count")
		wantError(t, err, weft.DeadlineExceeded, weft.NotSent, "no connection")
		if d := time.Since(began); d != weft.DefaultTimeout {
			t.Errorf("waited %v", d)
		}
	})
}

// Streams carry on at both ends when a server drains, within its time.
func TestStreamSurvivesDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, streams)
		c := w.dial(nil)
		s, err := weft.OpenStream[Args, Product](t.Context(), c, "Stream.Mul")
		must(t, err)
		must(t, s.Send(&Args{1, 2}))
		done := make(chan error, 1)
		go func() { done <- w.srv.Shutdown(context.Background()) }() // this goroutine ends with the stream
		for i := range 20 {
			time.Sleep(time.Second)
			must(t, s.Send(&Args{i, 2}))
			_, err := s.Recv()
			must(t, err)
		}
		must(t, s.CloseSend())
		if _, err := lastOf(s); err != io.EOF {
			t.Error(err)
		}
		must(t, <-done)
	})
}

// A nil message is an error of its sender with every codec, not a message without content.
func TestStreamNilMessage(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(streams(s), weft.HandleServerStream(s, "Stream.Nil", func(_ context.Context, _ *Args, out *weft.Sender[Product]) error {
			return out.Send(nil)
		}))
	})
	c := w.dial(nil)
	for _, cd := range []codec.Codec{msgpack.New(), json.New()} {
		s, err := weft.OpenStream[Args, Product](t.Context(), c, "Stream.Mul", weft.WithCodec(cd))
		must(t, err)
		if err := s.Send(nil); weft.CodeOf(err) != weft.InvalidArgument {
			t.Errorf("%s: Send of a client: %v", cd.Name(), err)
		}
		if p, err := s.Recv(); err == nil {
			t.Errorf("%s: the call goes on with %v", cd.Name(), p)
		}
		in, err := weft.Subscribe[Product](t.Context(), c, "Stream.Nil", &Args{}, weft.WithCodec(cd))
		must(t, err)
		if p, err := in.Recv(); weft.CodeOf(err) != weft.InvalidArgument {
			t.Errorf("%s: Send of a server: %v %v", cd.Name(), p, err)
		}
	}
}
