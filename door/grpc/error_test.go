package grpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
)

// TestTooLong sends messages that are too long for one side: the error says once what was wrong, and
// whose limit it is.
func TestTooLong(t *testing.T) {
	type text struct {
		Text string `weft:"1"`
		Long int64  `weft:"2"`
	}
	serve := func(limits weft.Limits) string {
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler), Limits: limits})
		reply := func(_ context.Context, in *text) (*text, error) {
			return &text{Text: strings.Repeat("x", int(in.Long))}, nil
		}
		if err := weft.Handle(srv, "Test.Reply", reply); err != nil {
			t.Fatal(err)
		}
		err := weft.HandleServerStream(srv, "Test.Stream", func(_ context.Context, in *text, out *weft.Sender[text]) error {
			return out.Send(&text{Text: strings.Repeat("x", int(in.Long))})
		})
		if err != nil {
			t.Fatal(err)
		}
		l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = srv.Serve(l) })
		t.Cleanup(func() { srv.Close(); wg.Wait() })
		return "grpc://" + l.Addr().String()
	}
	dial := func(address string, cfg weft.ClientConfig) *weft.Client {
		cfg.Wires, cfg.Logger = []weft.Wire{Wire(nil)}, slog.New(slog.DiscardHandler)
		c, err := weft.Dial(t.Context(), address, &cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	check := func(what string, err error, outcome weft.Outcome, side string) {
		t.Helper()
		e, ok := err.(*weft.Error)
		if !ok || e.Code != weft.ResourceExhausted || e.Outcome != outcome || e.Reason != weft.ReasonMessageTooLarge ||
			!strings.Contains(e.Message, "Limits.MaxMessage of the "+side+" allows") {
			t.Errorf("%s: %+v", what, err)
			return
		}
		for _, once := range []string{"ResourceExhausted", weft.ReasonMessageTooLarge} {
			if strings.Count(err.Error(), once) != 1 {
				t.Errorf("%s: %q is not once in %v", what, once, err)
			}
		}
	}
	small := weft.Limits{MaxMessage: 1000}
	long := &text{Text: strings.Repeat("x", 2000)}
	here := dial(serve(weft.Limits{}), weft.ClientConfig{Limits: small})
	there := dial(serve(small), weft.ClientConfig{})
	check("request, client", here.Call(t.Context(), "Test.Reply", long, nil), weft.NotSent, "client")
	check("request in JSON, client", here.Call(t.Context(), "Test.Reply", long, nil, weft.WithCodec(json.New())), weft.NotSent, "client")
	check("reply, client", here.Call(t.Context(), "Test.Reply", &text{Long: 2000}, nil), weft.Executed, "client")
	check("request, server", there.Call(t.Context(), "Test.Reply", long, nil), weft.Refused, "server")
	check("reply, server", there.Call(t.Context(), "Test.Reply", &text{Long: 2000}, nil), weft.Executed, "server")
	stream, err := weft.Subscribe[text](t.Context(), here, "Test.Stream", &text{Long: 2000})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	check("message of a stream, client", err, weft.Executed, "client")
}

// TestDialErrors connects by TLS to a plaintext port: the error has its code once.
func TestDialErrors(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	for scheme, cfg := range map[string]*weft.ClientConfig{
		"grpcs": {Wires: []weft.Wire{SecureWire(nil)}},
		"grpc":  {Wires: []weft.Wire{Wire(nil)}, TLS: &tls.Config{ServerName: "test"}},
	} {
		cfg.Logger = slog.New(slog.DiscardHandler)
		_, err := weft.Dial(t.Context(), scheme+"://"+l.Addr().String(), cfg)
		e, ok := err.(*weft.Error)
		if !ok || e.Code != weft.Unavailable || e.Outcome != weft.NotSent || strings.Count(err.Error(), "Unavailable") != 1 || !strings.Contains(err.Error(), "TLS: ") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// TestWrongProtocol has TLS agree on weft's own protocol, since the client's configuration names it: the error names it too.
func TestWrongProtocol(t *testing.T) {
	stock := httptest.NewTLSServer(nil)
	trust := stock.Client().Transport.(*nethttp.Transport).TLSClientConfig.RootCAs
	stock.Close()
	srv := weft.NewServer(&weft.ServerConfig{TLS: &tls.Config{Certificates: stock.TLS.Certificates}, Logger: slog.New(slog.DiscardHandler)})
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	for scheme, wire := range map[string]weft.Wire{"grpcs": SecureWire(nil), "grpc": Wire(nil)} {
		_, err := weft.Dial(t.Context(), scheme+"://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{wire}, Logger: slog.New(slog.DiscardHandler),
			TLS: &tls.Config{RootCAs: trust, ServerName: "example.com", NextProtos: []string{"weft/1"}}})
		if weft.CodeOf(err) != weft.Unavailable || !strings.Contains(err.Error(), `the server agreed in TLS to speak "weft/1", want "h2"`) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}
