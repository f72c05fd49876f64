package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
)

const (
	service      = "grpc.testing.TestService."
	initialKey   = "x-grpc-test-echo-initial"
	trailingKey  = "x-grpc-test-echo-trailing-bin"
	fatalPattern = "the case failed: %v"
)

// echoMetadata sends back what the cases ask for.
func echoMetadata(ctx context.Context) error {
	m := weft.MetadataFrom(ctx)
	for _, key := range []string{initialKey, trailingKey} {
		if v := m.Values(key); len(v) > 0 {
			if err := weft.SetReplyMetadata(ctx, key, v[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func statusFor(s *grpc_testing.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	return weft.Errorf(weft.Code(s.GetCode()), "%s", s.GetMessage())
}

func payload(n int32) *grpc_testing.Payload { return &grpc_testing.Payload{Body: make([]byte, n)} }

// interopServer is a weft server with the service of gRPC's interoperability tests.
func interopServer(t *testing.T) string {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{
		Doors:       []weft.Door{weftgrpc.Door(&weftgrpc.Config{Leading: func(key string) bool { return key == initialKey }})},
		Logger:      slog.New(slog.DiscardHandler),
		Compressors: []compress.Compressor{gzip.New()}, Compressor: gzip.New(),
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(weft.Handle(srv, service+"EmptyCall", func(context.Context, *grpc_testing.Empty) (*grpc_testing.Empty, error) {
		return new(grpc_testing.Empty), nil
	}))
	must(weft.Handle(srv, "internal.Unary", unaryCall, weftgrpc.Path("/grpc.testing.TestService/UnaryCall")))
	must(weft.HandleServerStream(srv, service+"StreamingOutputCall", outputCall))
	must(weft.HandleClientStream(srv, service+"StreamingInputCall", inputCall))
	must(weft.HandleStream(srv, service+"FullDuplexCall", fullDuplexCall))
	must(weft.HandleStream(srv, service+"HalfDuplexCall", halfDuplexCall))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func unaryCall(ctx context.Context, in *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if err := echoMetadata(ctx); err != nil {
		return nil, err
	}
	if err := statusFor(in.GetResponseStatus()); err != nil {
		return nil, err
	}
	return &grpc_testing.SimpleResponse{Payload: payload(in.GetResponseSize())}, nil
}

func outputCall(_ context.Context, in *grpc_testing.StreamingOutputCallRequest, out *weft.Sender[grpc_testing.StreamingOutputCallResponse]) error {
	return sendAll(in, out.Send)
}

func sendAll(in *grpc_testing.StreamingOutputCallRequest, send func(*grpc_testing.StreamingOutputCallResponse) error) error {
	for _, p := range in.GetResponseParameters() {
		time.Sleep(time.Duration(p.GetIntervalUs()) * time.Microsecond)
		if err := send(&grpc_testing.StreamingOutputCallResponse{Payload: payload(p.GetSize())}); err != nil {
			return err
		}
	}
	return nil
}

func inputCall(_ context.Context, in *weft.Receiver[grpc_testing.StreamingInputCallRequest]) (*grpc_testing.StreamingInputCallResponse, error) {
	sum := 0
	for m, err := range in.All() {
		if err != nil {
			return nil, err
		}
		sum += len(m.GetPayload().GetBody())
	}
	return &grpc_testing.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)}, nil
}

func fullDuplexCall(ctx context.Context, s *weft.Stream[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse]) error {
	if err := echoMetadata(ctx); err != nil {
		return err
	}
	for m, err := range s.All() {
		if err != nil {
			return err
		}
		if err := statusFor(m.GetResponseStatus()); err != nil {
			return err
		}
		if err := sendAll(m, s.Send); err != nil {
			return err
		}
	}
	return nil
}

func halfDuplexCall(_ context.Context, s *weft.Stream[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse]) error {
	var all []*grpc_testing.StreamingOutputCallRequest
	for m, err := range s.All() {
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	for _, m := range all {
		if err := sendAll(m, s.Send); err != nil {
			return err
		}
	}
	return nil
}

// interopClient is a weft client of a server of gRPC.
func interopClient(t *testing.T, addr string, change func(*weft.ClientConfig)) *weft.Client {
	t.Helper()
	cfg := &weft.ClientConfig{Wires: []weft.Wire{weftgrpc.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(cfg)
	}
	c, err := weft.Dial(t.Context(), "grpc://"+addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// cases are gRPC's interoperability cases, as a weft client makes them.
func cases() map[string]func(context.Context, *weft.Client) error {
	return map[string]func(context.Context, *weft.Client) error{
		"empty_unary": func(ctx context.Context, c *weft.Client) error {
			_, err := weft.Invoke[grpc_testing.Empty](ctx, c, service+"EmptyCall", new(grpc_testing.Empty))
			return err
		},
		"large_unary":                 largeUnary,
		"client_streaming":            clientStreaming,
		"server_streaming":            serverStreaming,
		"ping_pong":                   pingPong,
		"empty_stream":                emptyStream,
		"timeout_on_sleeping_server":  sleepingServer,
		"cancel_after_begin":          cancelAfterBegin,
		"cancel_after_first_response": cancelAfterFirst,
		"custom_metadata":             customMetadata,
		"status_code_and_message":     statusAndMessage,
		"special_status_message":      specialMessage,
		"unimplemented_method": func(ctx context.Context, c *weft.Client) error {
			return wantCode(c.Call(ctx, service+"UnimplementedMethod", new(grpc_testing.Empty), nil), weft.Unimplemented, weft.Refused)
		},
		"unimplemented_service": func(ctx context.Context, c *weft.Client) error {
			return wantCode(c.Call(ctx, "grpc.testing.UnimplementedService.UnimplementedCall", new(grpc_testing.Empty), nil), weft.Unimplemented, weft.Refused)
		},
	}
}

func wantCode(err error, code weft.Code, outcome weft.Outcome) error {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != code || e.Outcome != outcome {
		return fmt.Errorf("error %v, want %v and %v", err, code, outcome)
	}
	return nil
}

func largeUnary(ctx context.Context, c *weft.Client) error {
	r, err := weft.Invoke[grpc_testing.SimpleResponse](ctx, c, service+"UnaryCall", &grpc_testing.SimpleRequest{ResponseSize: 314159, Payload: payload(271828)})
	if err != nil || len(r.GetPayload().GetBody()) != 314159 {
		return fmt.Errorf("%d bytes, %v", len(r.GetPayload().GetBody()), err)
	}
	return nil
}

func clientStreaming(ctx context.Context, c *weft.Client) error {
	s, err := weft.OpenStream[grpc_testing.StreamingInputCallRequest, grpc_testing.StreamingInputCallResponse](ctx, c, service+"StreamingInputCall")
	if err != nil {
		return err
	}
	for _, n := range []int32{27182, 8, 1828, 45904} {
		if err := s.Send(&grpc_testing.StreamingInputCallRequest{Payload: payload(n)}); err != nil {
			return err
		}
	}
	r, err := s.CloseAndRecv()
	if err != nil || r.GetAggregatedPayloadSize() != 74922 {
		return fmt.Errorf("%v, %v", r, err)
	}
	return nil
}

// sizes are those of the streaming cases.
func sizes() []int32 { return []int32{31415, 9, 2653, 58979} }

func serverStreaming(ctx context.Context, c *weft.Client) error {
	in := new(grpc_testing.StreamingOutputCallRequest)
	for _, n := range sizes() {
		in.ResponseParameters = append(in.ResponseParameters, &grpc_testing.ResponseParameters{Size: n})
	}
	s, err := weft.Subscribe[grpc_testing.StreamingOutputCallResponse](ctx, c, service+"StreamingOutputCall", in)
	if err != nil {
		return err
	}
	n := 0
	for m, err := range s.All() {
		if err != nil || len(m.GetPayload().GetBody()) != int(sizes()[n]) {
			return fmt.Errorf("message %d: %d bytes, %v", n, len(m.GetPayload().GetBody()), err)
		}
		n++
	}
	if n != len(sizes()) {
		return fmt.Errorf("%d messages", n)
	}
	return nil
}

func duplex(ctx context.Context, c *weft.Client, opts ...weft.CallOption) (*weft.Stream[grpc_testing.StreamingOutputCallResponse, grpc_testing.StreamingOutputCallRequest], error) {
	return weft.OpenStream[grpc_testing.StreamingOutputCallRequest, grpc_testing.StreamingOutputCallResponse](ctx, c, service+"FullDuplexCall", opts...)
}

func request(n int32) *grpc_testing.StreamingOutputCallRequest {
	return &grpc_testing.StreamingOutputCallRequest{Payload: payload(n), ResponseParameters: []*grpc_testing.ResponseParameters{{Size: n}}}
}

func pingPong(ctx context.Context, c *weft.Client) error {
	s, err := duplex(ctx, c)
	if err != nil {
		return err
	}
	for _, n := range sizes() {
		if err := s.Send(request(n)); err != nil {
			return err
		}
		m, err := s.Recv()
		if err != nil || len(m.GetPayload().GetBody()) != int(n) {
			return fmt.Errorf("%d bytes, %v", len(m.GetPayload().GetBody()), err)
		}
	}
	return closed(s)
}

func closed(s *weft.Stream[grpc_testing.StreamingOutputCallResponse, grpc_testing.StreamingOutputCallRequest]) error {
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err := s.Recv(); err != io.EOF {
		return fmt.Errorf("the stream ended with %v", err)
	}
	return nil
}

func emptyStream(ctx context.Context, c *weft.Client) error {
	s, err := duplex(ctx, c)
	if err != nil {
		return err
	}
	return closed(s)
}

func sleepingServer(ctx context.Context, c *weft.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	s, err := duplex(ctx, c)
	if err == nil {
		if err = s.Send(&grpc_testing.StreamingOutputCallRequest{Payload: payload(27182)}); err == nil || err == io.EOF {
			_, err = s.Recv()
		}
	}
	if weft.CodeOf(err) != weft.DeadlineExceeded {
		return fmt.Errorf("the stream ended with %v", err)
	}
	return nil
}

func cancelAfterBegin(ctx context.Context, c *weft.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := weft.OpenStream[grpc_testing.StreamingInputCallRequest, grpc_testing.StreamingInputCallResponse](ctx, c, service+"StreamingInputCall")
	if err != nil {
		return err
	}
	cancel()
	_, err = s.CloseAndRecv()
	return wantCode(err, weft.Canceled, weft.OutcomeUnknown)
}

func cancelAfterFirst(ctx context.Context, c *weft.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := duplex(ctx, c)
	if err != nil {
		return err
	}
	if err := s.Send(request(31415)); err != nil {
		return err
	}
	if _, err := s.Recv(); err != nil {
		return err
	}
	cancel()
	_, err = s.Recv()
	return wantCode(err, weft.Canceled, weft.OutcomeUnknown)
}

func customMetadata(ctx context.Context, c *weft.Client) error {
	const initial, trailing = "test_initial_metadata_value", "\x0a\x0b\x0a\x0b\x0a\x0b"
	ctx = weft.WithMetadata(ctx, initialKey, initial, trailingKey, trailing)
	var m weft.Metadata
	if _, err := weft.Invoke[grpc_testing.SimpleResponse](ctx, c, service+"UnaryCall", &grpc_testing.SimpleRequest{ResponseSize: 1, Payload: payload(1)}, weft.WithReplyMetadata(&m)); err != nil {
		return err
	}
	if m.Get(initialKey) != initial || m.Get(trailingKey) != trailing {
		return fmt.Errorf("the unary call came back with %v", m)
	}
	var sm weft.Metadata
	s, err := duplex(ctx, c, weft.WithReplyMetadata(&sm))
	if err != nil {
		return err
	}
	if err := s.Send(request(1)); err != nil {
		return err
	}
	if _, err := s.Recv(); err != nil {
		return err
	}
	if err := closed(s); err != nil {
		return err
	}
	if sm.Get(initialKey) != initial || sm.Get(trailingKey) != trailing {
		return fmt.Errorf("the stream came back with %v", sm)
	}
	return nil
}

func statusAndMessage(ctx context.Context, c *weft.Client) error {
	st := &grpc_testing.EchoStatus{Code: 2, Message: "test status message"}
	err := c.Call(ctx, service+"UnaryCall", &grpc_testing.SimpleRequest{ResponseStatus: st}, nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unknown || e.Message != st.Message {
		return err
	}
	s, err := duplex(ctx, c)
	if err != nil {
		return err
	}
	if err := s.Send(&grpc_testing.StreamingOutputCallRequest{ResponseStatus: st}); err != nil {
		return err
	}
	_, err = s.Recv()
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unknown || e.Message != st.Message {
		return fmt.Errorf("the stream ended with %v", err)
	}
	return nil
}

func specialMessage(ctx context.Context, c *weft.Client) error {
	const text = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
	err := c.Call(ctx, service+"UnaryCall", &grpc_testing.SimpleRequest{ResponseStatus: &grpc_testing.EchoStatus{Code: 2, Message: text}}, nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unknown || e.Message != text {
		return fmt.Errorf("%q", err)
	}
	return nil
}
