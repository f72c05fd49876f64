package connect_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
)

// FuzzRequest sends a body under a content type and an encoding: every request is answered with a status below
// 500, but for codes that mean the caller's fault and have one, and the connection or the next one serves on.
func FuzzRequest(f *testing.F) {
	hello := []byte("\x00\x00\x00\x00\x07{\"a\":1}")
	f.Add("application/json", "", "Unary", []byte(`"x"`))
	f.Add("application/proto", "gzip", "Unary", []byte("\x0a\x01x"))
	f.Add("application/connect+json", "", "Both", hello)
	f.Add("application/connect+proto", "gzip", "Both", []byte("\x01\x00\x00\x00\x02\x1f\x8b"))
	f.Add("application/connect+proto", "", "Many", []byte("\x02\x00\x00\x00\x02{}"))
	f.Add("application/grpc-web", "", "Unary", []byte("\x00\x00\x00\x00\x03\x0a\x01x\x80\x00\x00\x00\x00"))
	f.Add("application/grpc-web-text+proto", "", "Many", []byte(base64.StdEncoding.EncodeToString(hello)+"=AAA"))
	f.Add("application/grpc-web+json", "identity", "Unary", []byte("\x00\xff\xff\xff\xff"))
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(nil), Logger: slog.New(slog.DiscardHandler)})
	err := errors.Join(
		weft.Handle(srv, "Fuzz.Unary", func(_ context.Context, m *wrapperspb.StringValue) (*wrapperspb.StringValue, error) { return m, nil }),
		weft.HandleServerStream(srv, "Fuzz.Many", func(_ context.Context, m *wrapperspb.StringValue, out *weft.Sender[wrapperspb.StringValue]) error {
			return out.Send(m)
		}),
		weft.HandleStream(srv, "Fuzz.Both", func(_ context.Context, s *weft.Stream[wrapperspb.StringValue, wrapperspb.StringValue]) error {
			for m, err := range s.All() {
				if err != nil {
					return err
				}
				if err := s.Send(m); err != nil {
					return err
				}
			}
			return nil
		}))
	if err != nil {
		f.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	transport := &nethttp.Transport{}
	client := &nethttp.Client{Transport: transport, Timeout: 20 * time.Second}
	f.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
		<-served
	})
	f.Fuzz(func(t *testing.T, kind, encoding, method string, body []byte) {
		switch method {
		case "Unary", "Many", "Both":
		default:
			return
		}
		// The body is whole or comes in pieces of a length that is not told.
		for _, reader := range []io.Reader{strings.NewReader(string(body)), io.MultiReader(strings.NewReader(string(body)))} {
			r, err := nethttp.NewRequest("POST", "http://"+l.Addr().String()+"/Fuzz/"+method, reader)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", kind)
			if encoding != "" {
				r.Header.Set("Content-Encoding", encoding)
				r.Header.Set("Connect-Content-Encoding", encoding)
				r.Header.Set("Grpc-Encoding", encoding)
			}
			res, err := client.Do(r)
			if err != nil {
				if strings.Contains(err.Error(), "invalid header") || strings.Contains(err.Error(), "malformed") {
					return // the client does not send it
				}
				t.Fatalf("no answer: %v", err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Errorf("the answer is not whole: %v", err)
			}
			res.Body.Close()
			if res.StatusCode >= 500 && res.StatusCode != nethttp.StatusNotImplemented {
				t.Errorf("status %s", res.Status)
			}
		}
	})
}
