package http_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/wiretest"
)

// TestWire tries the wire by a server with the door.
func TestWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return http.Wire(&http.WireConfig{Prefix: "api"}) }, Codes: true, Metadata: true, Streams: true,
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{http.Door(&http.Config{Prefix: "/api/"})}, Logger: slog.New(slog.DiscardHandler),
				Timeout: -1, Limits: weft.Limits{MaxMessage: 64 << 20, HandshakeTimeout: time.Minute}})
			defer srv.Close()
			if err := srv.RegisterName("Test", h); err != nil {
				t.Error(err)
			}
			err := weft.HandleServerStream(srv, "Test.Count", func(_ context.Context, m *wiretest.Message, out *weft.Sender[wiretest.Message]) error {
				for n := range m.N {
					if err := out.Send(&wiretest.Message{N: n + 1}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			wiretest.ServeOne(conn, srv.Serve)
		},
	})
}

// dial makes a client of a server of the rig.
func (r *rig) dial(change func(*weft.ClientConfig)) *weft.Client {
	r.t.Helper()
	cfg := &weft.ClientConfig{Wires: []weft.Wire{http.Wire(nil), http.SecureWire(nil)}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(cfg)
	}
	c, err := weft.Dial(r.t.Context(), r.url, cfg)
	must(r.t, err)
	r.t.Cleanup(func() { c.Close() })
	return c
}

// TestWireCalls: messages of every kind, metadata, errors.
func TestWireCalls(t *testing.T) {
	r := start(t, nil, func(c *weft.ServerConfig) { c.Compressors = []compress.Compressor{gzip.New()} })
	for name, change := range map[string]func(*weft.ClientConfig){
		"plain": nil,
		"compressed": func(c *weft.ClientConfig) {
			c.Compressors, c.Compressor, c.Limits.CompressAbove = []compress.Compressor{gzip.New()}, gzip.New(), 1
		},
	} {
		c := r.dial(change)
		u := &User{ID: 7, Name: strings.Repeat("name ", 1000), Tags: []string{"a"}, Key: []byte{0}, Address: &Address{City: "Rom"}}
		if back, err := weft.Invoke[User](t.Context(), c, "Users.Get", u); err != nil || back.Name != u.Name || back.Address.City != "Rom" {
			t.Errorf("%s: %v, %v", name, back, err)
		}
		if back, err := weft.Invoke[wrapperspb.Int64Value](t.Context(), c, "Proto.Half", wrapperspb.Int64(14)); err != nil || back.Value != 7 {
			t.Errorf("%s: %v, %v", name, back, err)
		}
	}
	c := r.dial(nil)
	var md weft.Metadata
	ctx := weft.WithMetadata(t.Context(), "color", "red", "traceparent", "00-1")
	for key, want := range map[string]string{"color": "red", "traceparent": "00-1"} {
		back, err := weft.Invoke[User](ctx, c, "Users.Meta", &User{Name: key}, weft.WithReplyMetadata(&md))
		if err != nil || len(back.Tags) != 1 || back.Tags[0] != want || md.Get("seen") != want || md.Get("binary") != "\x00\x01" || back.Wait <= 0 {
			t.Errorf("%s: %v, %v, %v", key, back, md, err)
		}
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		_, err := weft.Invoke[User](t.Context(), c, "Users.Fail", &User{ID: int64(code)})
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != code || e.Message != "as you wish" || e.Reason != "ON_REQUEST" || e.Outcome != weft.Executed || len(e.Details) == 0 || string(e.Details[0].Value) != "value" {
			t.Errorf("%v: %v", code, err)
		}
		if d, ok := e.RetryAfter(); !ok || d != 1500*time.Millisecond {
			t.Errorf("%v: Retry-After %v", code, d)
		}
	}
	_, err := weft.Invoke[User](t.Context(), c, "Users.None", &User{})
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unimplemented || e.Outcome != weft.Refused || e.Reason != weft.ReasonNoMethod {
		t.Errorf("no such method: %v", err)
	}
}

// TestWireStreams: streams of every kind.
func TestWireStreams(t *testing.T) {
	r := start(t, nil, nil)
	c := r.dial(nil)
	s, err := weft.Subscribe[User](t.Context(), c, "Stream.Count", &User{ID: 2, Admin: true})
	must(t, err)
	var got []int64
	for u, e := range s.All() {
		if err = e; err == nil {
			got = append(got, u.ID)
		}
	}
	if len(got) != 2 || weft.CodeOf(err) != weft.Aborted {
		t.Errorf("%v, %v", got, err)
	}
	both, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
	must(t, err)
	for i := range int64(3) { // each when the one before has come back
		must(t, both.Send(&User{ID: i + 1}))
		if u, err := both.Recv(); err != nil || u.ID != i+1 {
			t.Fatalf("%d: %v, %v", i, u, err)
		}
	}
	must(t, both.CloseSend())
	if _, err := both.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	for n := range int64(4) {
		many, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Sum")
		must(t, err)
		for i := range n {
			must(t, many.Send(&User{ID: i + 1}))
		}
		if u, err := many.CloseAndRecv(); err != nil || u.ID != n*(n+1)/2 {
			t.Errorf("%d messages: %v, %v", n, u, err)
		}
	}
	left, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
	must(t, err)
	must(t, left.Send(&User{}))
	must(t, left.Close())
	if _, err := weft.Subscribe[User](t.Context(), c, "Stream.None", &User{}); err == nil {
		s, _ := weft.Subscribe[User](t.Context(), c, "Stream.None", &User{})
		_, err = s.Recv()
		if weft.CodeOf(err) != weft.Unimplemented {
			t.Errorf("no such method: %v", err)
		}
	}
}

// TestWireSendBehindTheEnd: a message behind CloseSend is an error, and does not end the call.
func TestWireSendBehindTheEnd(t *testing.T) {
	r := start(t, nil, nil)
	c := r.dial(nil)
	for n := range int64(4) {
		s, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
		must(t, err)
		for i := range n {
			must(t, s.Send(&User{ID: i + 1}))
		}
		must(t, s.CloseSend())
		for range 3 {
			e, ok := errors.AsType[*weft.Error](s.Send(&User{ID: 9}))
			if !ok || e.Code != weft.FailedPrecondition || e.Outcome != weft.NotSent {
				t.Errorf("a message behind %d: %v", n, e)
			}
		}
		for i := range n {
			if u, err := s.Recv(); err != nil || u.ID != i+1 {
				t.Errorf("%d of %d: %v, %v", i, n, u, err)
			}
		}
		if _, err := s.Recv(); err != io.EOF {
			t.Errorf("at the end of %d: %v", n, err)
		}
	}
}

// TestWireSendWhileReceiving: a goroutine that receives begins the request, while another one sends: messages keep their order, and the
// last one is not lost.
func TestWireSendWhileReceiving(t *testing.T) {
	r := start(t, nil, nil)
	c := r.dial(nil)
	for range 200 {
		s, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
		must(t, err)
		must(t, s.Send(&User{ID: 1}))
		got := make(chan []int64, 1)
		go func() { // it ends with the stream
			var ids []int64
			for {
				u, err := s.Recv()
				if err != nil {
					if err != io.EOF {
						t.Errorf("Recv: %v", err)
					}
					got <- ids
					return
				}
				ids = append(ids, u.ID)
			}
		}()
		if err := s.Send(&User{ID: 2}); err != nil {
			t.Errorf("Send: %v", err)
		}
		if err := s.CloseSend(); err != nil {
			t.Errorf("CloseSend: %v", err)
		}
		if ids := <-got; !slices.Equal(ids, []int64{1, 2}) {
			t.Fatalf("the messages 1 and 2 came as %v", ids)
		}
	}
	for range 200 {
		s, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
		must(t, err)
		must(t, s.Send(&User{ID: 1}))
		got := make(chan error, 1)
		go func() { // it ends with the stream
			u, err := s.Recv()
			if err == nil && u.ID != 1 {
				err = errors.New("another message came")
			}
			got <- err
		}()
		if err := s.CloseSend(); err != nil {
			t.Errorf("CloseSend: %v", err)
		}
		if err := <-got; err != nil {
			t.Fatalf("the one message did not come: %v", err)
		}
		s.Close()
	}
}

// TestWireCloseWhileReceiving: Close ends a Recv that begins at the same time, on a stream without a deadline.
func TestWireCloseWhileReceiving(t *testing.T) {
	r := start(t, nil, nil)
	c := r.dial(nil)
	for range 200 {
		s, err := weft.OpenStream[User, User](t.Context(), c, "Stream.Echo")
		must(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := s.Recv()
			ended <- err
		}()
		s.Close()
		select {
		case err := <-ended:
			if err == nil || err == io.EOF {
				t.Fatalf("Recv returns %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Recv goes on after Close")
		}
	}
}

// TestWireOfOthers calls servers of other make: what is no answer to the call is an error.
func TestWireOfOthers(t *testing.T) {
	mux := nethttp.NewServeMux()
	answer := func(path, kind, body string, status int, headers ...string) {
		mux.HandleFunc(path, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", kind)
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	const js = "application/json"
	answer("/S/Good", js, `{"id":7,"unknown":1}`, 200)
	answer("/S/Suffix", "application/vnd.shop+json; charset=utf-8", `{"NAME":"x"}`, 200)
	answer("/S/Empty", js, `{}`, 200)
	answer("/S/Other", js, `{"status":"ok"}`, 200)
	answer("/S/JSONRPC", js, `{"jsonrpc":"2.0","error":{"code":-32601},"result":null}`, 200)
	answer("/S/List", js, `[1]`, 200)
	answer("/S/Page", "text/html", `<html>`, 200)
	answer("/S/Cut", js, `{"id":`, 200)
	answer("/S/Problem200", "application/problem+json", `{"title":"x"}`, 200)
	answer("/S/NoContent", js, ``, 204)
	answer("/S/Moved", "text/plain", ``, 307, "Location", "/S/Good")
	answer("/S/NotFound", "application/problem+json", `{"title":"Out of stock","status":404,"detail":"no pears"}`, 404)
	answer("/S/OwnMembers", "application/problem+json", `{"title":"Out of stock","detail":"no pears","code":4711,"reason":{},"details":"none"}`, 404)
	answer("/S/Busy", "application/problem+json", `{"title":"Slow down"}`, 429, "Retry-After", "3")
	answer("/S/Proxy", "text/html", `bad gateway`, 502)
	answer("/S/Forbidden", js, `{"message":"no"}`, 403)
	answer("/S/Events", "text/event-stream", ": hello\n\nid: 1\ndata: {\"id\":\ndata: 1}\n\nevent: message\r\ndata:{\"id\":2}\r\n\r\nevent: end\ndata: {}\n\n", 200)
	answer("/S/EventsCut", "text/event-stream", "data: {\"id\":1}\n\n", 200)
	answer("/S/EndCut", "text/event-stream", "data: {\"id\":1}\n\nevent: end\n", 200)
	answer("/S/EventError", "text/event-stream", "data: {\"id\":1}\n\nevent: error\ndata: {\"code\":\"Aborted\",\"detail\":\"enough\"}\n\n", 200)
	answer("/S/Lines", "application/x-ndjson", "{\"result\":{\"id\":1}}\n\n{\"result\":{\"id\":2}}", 200)
	answer("/S/BadLines", "application/x-ndjson", "{\"id\":1}\n", 200)
	mux.HandleFunc("/S/LongStatus", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		io.Copy(io.Discard, r.Body) // what is not read would reset the connection
		conn, _, err := nethttp.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 500 "+strings.Repeat("long ", 1000)+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	site := httptest.NewServer(mux)
	defer site.Close()
	c, err := weft.Dial(t.Context(), site.URL, &weft.ClientConfig{Wires: []weft.Wire{http.Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	for _, m := range []struct {
		method  string
		code    weft.Code
		outcome weft.Outcome
		has     string
	}{
		{"Good", 0, 0, ""}, {"Suffix", 0, 0, ""}, {"Empty", 0, 0, ""},
		{"Other", weft.Internal, weft.OutcomeUnknown, "none of the fields"},
		{"JSONRPC", weft.Internal, weft.OutcomeUnknown, "none of the fields"},
		{"List", weft.Internal, weft.Executed, "decode"},
		{"Page", weft.Internal, weft.OutcomeUnknown, "text/html"},
		{"Cut", weft.Internal, weft.Executed, "decode"},
		{"Problem200", weft.Internal, weft.OutcomeUnknown, "problem+json"},
		{"NoContent", weft.Unknown, weft.OutcomeUnknown, "204"},
		{"Moved", weft.Unknown, weft.OutcomeUnknown, "307"},
		{"NotFound", weft.NotFound, weft.Executed, "no pears"},
		{"OwnMembers", weft.NotFound, weft.Executed, "no pears"},
		{"Busy", weft.ResourceExhausted, weft.Executed, "Slow down"},
		{"Proxy", weft.Unavailable, weft.OutcomeUnknown, "502"},
		{"Forbidden", weft.PermissionDenied, weft.OutcomeUnknown, "403"},
		{"LongStatus", weft.Unknown, weft.OutcomeUnknown, "500 long"},
		{"Nowhere", weft.Unimplemented, weft.Refused, "404"},
	} {
		u, err := weft.Invoke[User](t.Context(), c, "S."+m.method, &User{})
		if m.code == 0 {
			if err != nil {
				t.Errorf("%s: %v", m.method, err)
			}
			continue
		}
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != m.code || e.Outcome != m.outcome || !strings.Contains(e.Message, m.has) || len(e.Message) > 600 {
			t.Errorf("%s: %v, %+v", m.method, u, e)
		}
		if d, _ := e.RetryAfter(); m.method == "Busy" && d != 3*time.Second {
			t.Errorf("Retry-After is %v", d)
		}
	}
	for method, want := range map[string]struct {
		n    int
		code weft.Code
	}{"Events": {2, 0}, "EventError": {1, weft.Aborted}, "EventsCut": {1, weft.Unavailable}, "EndCut": {1, weft.Unavailable}, "Lines": {2, 0}, "BadLines": {0, weft.Internal}, "Good": {1, 0}, "Page": {0, weft.Internal}, "Proxy": {0, weft.Unavailable}} {
		s, err := weft.Subscribe[User](t.Context(), c, "S."+method, &User{})
		must(t, err)
		n := 0
		for _, err = range s.All() {
			if err != nil {
				break
			}
			n++
		}
		if n != want.n || weft.CodeOf(err) != want.code {
			t.Errorf("%s: %d messages, %v", method, n, err)
		}
	}
}
