package thrift_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft"
	doorhttp "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
	"github.com/weftrpc/weft/door/wiretest"
)

// stockHTTP is the stock library's server over HTTP in a protocol.
func stockHTTP(processor apache.TProcessor, p thrift.Protocol) http.Handler {
	var factory apache.TProtocolFactory
	switch p {
	case thrift.Binary:
		factory = apache.NewTBinaryProtocolFactoryConf(config(true, 0))
	case thrift.BinaryOld:
		factory = apache.NewTBinaryProtocolFactoryConf(config(false, 0))
	case thrift.Compact:
		factory = apache.NewTCompactProtocolFactoryConf(config(true, 0))
	case thrift.JSON:
		factory = apache.NewTJSONProtocolFactory()
	}
	return http.HandlerFunc(apache.NewThriftHandlerFunc(processor, factory, factory))
}

// TestWireHTTPStock tries the wire by the stock library's server.
func TestWireHTTPStock(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return thrift.WireHTTP(&thrift.HTTPConfig{Protocol: thrift.Compact}) },
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			srv := &http.Server{Handler: stockHTTP(stock.NewTestProcessor(handlers{h}), thrift.Compact)}
			defer srv.Close()
			wiretest.ServeOne(conn, srv.Serve)
		},
	})
}

// TestWireHTTPOwn tries the wire by the handler of this package.
func TestWireHTTPOwn(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return thrift.WireHTTP(&thrift.HTTPConfig{Framed: true, Path: "thrift"}) }, Codes: true, Metadata: true,
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			mux := http.NewServeMux()
			mux.Handle("/thrift", thrift.Handler(nil))
			srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{doorhttp.Door(&doorhttp.Config{Handler: mux})}, Logger: slog.New(slog.DiscardHandler),
				Timeout: -1, Limits: weft.Limits{MaxMessage: 64 << 20, HandshakeTimeout: time.Minute}})
			if err := srv.RegisterName("Test", h); err != nil {
				panic(err)
			}
			defer srv.Close()
			wiretest.ServeOne(conn, srv.Serve)
		},
	})
}

// dialHTTP calls a server over HTTP.
func dialHTTP(t *testing.T, address string, cfg *thrift.HTTPConfig, change ...func(*weft.ClientConfig)) *weft.Client {
	t.Helper()
	client := &weft.ClientConfig{Wires: []weft.Wire{thrift.WireHTTP(cfg), thrift.SecureWireHTTP(cfg)}, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(client)
	}
	c, err := weft.Dial(t.Context(), address, client)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// serveHTTP serves a handler by net/http.
func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// TestWireHTTPService calls stock servers in all protocols, by plain structs and by generated ones.
func TestWireHTTPService(t *testing.T) {
	for _, p := range []thrift.Protocol{thrift.Binary, thrift.BinaryOld, thrift.Compact, thrift.JSON} {
		for _, multiplexed := range []bool{false, true} {
			told := make(chan string, 1)
			var processor apache.TProcessor = stock.NewDemoProcessor(demo{told})
			if multiplexed {
				m := apache.NewTMultiplexedProcessor()
				m.RegisterProcessor("Demo", processor)
				processor = m
			}
			addr := serveHTTP(t, stockHTTP(processor, p))
			callStock(t, dialHTTP(t, "thrift+http://"+addr, &thrift.HTTPConfig{Protocol: p, Multiplexed: multiplexed}), told)
		}
	}
}

// ends makes calls that end with their times until one has come to its handler, which ends then. On a busy machine a call may not
// come so far in its time, and the next one has more.
func ends(t *testing.T, handler <-chan error, call func(timeout time.Duration) error) {
	t.Helper()
	for timeout := 50 * time.Millisecond; ; timeout *= 4 {
		if err := call(timeout); weft.CodeOf(err) != weft.DeadlineExceeded {
			t.Errorf("a call that waits ended with %v", err)
		}
		select {
		case err := <-handler:
			if err == nil {
				t.Error("the handler has ended before its context")
			}
			return
		case <-time.After(timeout):
		}
		if timeout > patience/8 {
			t.Fatal("no call has come to its handler, or the handlers go on")
		}
	}
}

// TestWireHTTPCarries: metadata, the credential, the time of a call and what its error is go over HTTP, both ways.
func TestWireHTTPCarries(t *testing.T) {
	canceled := make(chan error, 100)
	url := overHTTP(t, &weft.ServerConfig{Timeout: -1, Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Token != "secret" {
			return nil, weft.Errorf(weft.Unauthenticated, "the credential is wrong").WithReason("WRONG")
		}
		return "guest", nil
	}}, func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Get", func(ctx context.Context, g *Get) (*string, error) {
				m := weft.MetadataFrom(ctx)
				text := m.Get("color") + " " + m.Get("name")
				if err := weft.SetReplyMetadata(ctx, "shape", "rou\x00nd"); err != nil || g.ID == 0 {
					return &text, err
				}
				if g.ID == 7 {
					return nil, thrift.Throw(1, &Missing{"order", 7})
				}
				return nil, weft.Errorf(weft.NotFound, "no order %d", g.ID).WithReason("NO_ORDER")
			}),
			weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*string, error) {
				<-ctx.Done()
				canceled <- ctx.Err()
				return nil, ctx.Err()
			}))
	})
	secret := weft.Credential{Scheme: "Bearer", Token: "secret"}
	address := "thrift+" + url
	var m weft.Metadata
	ctx := weft.WithMetadata(weft.WithMetadata(t.Context(), "color", "red"), "name", "caf\u00e9")
	for _, set := range []func(*weft.ClientConfig){
		func(cfg *weft.ClientConfig) { cfg.Credential = weft.StaticCredential("Bearer", "secret") },
		func(cfg *weft.ClientConfig) {
			cfg.ConnCredential = func(context.Context) (weft.Credential, error) { return secret, nil }
		},
	} {
		c := dialHTTP(t, address, nil, set)
		text, err := weft.Invoke[string](ctx, c, "Demo.Get", &Get{}, weft.WithReplyMetadata(&m))
		if err != nil || *text != "red caf\u00e9" || m.Get("shape") != "rou\x00nd" {
			t.Errorf("%v, %v, %v", text, err, m)
		}
		m = weft.Metadata{}
		_, err = weft.Invoke[string](ctx, c, "Demo.Get", &Get{8}, weft.WithReplyMetadata(&m))
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.NotFound || e.Outcome != weft.Executed || e.Reason != "NO_ORDER" || e.Message != "no order 8" || m.Get("shape") == "" {
			t.Errorf("%v, %v", err, m)
		}
		var missing Missing
		if _, err = weft.Invoke[string](ctx, c, "Demo.Get", &Get{7}); !thrift.Caught(err, 1, &missing) || missing.ID != 7 {
			t.Errorf("%v", err)
		}
		// The server knows the time that the call has, and ends it by itself or when the client leaves.
		ends(t, canceled, func(timeout time.Duration) error {
			return c.Call(ctx, "Demo.Wait", &Get{}, nil, weft.WithTimeout(timeout))
		})
	}
	err := dialHTTP(t, address, nil).Call(ctx, "Demo.Get", &Get{}, nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unauthenticated || e.Outcome != weft.Refused || e.Reason != "WRONG" {
		t.Errorf("without a credential: %v", err)
	}
	err = dialHTTP(t, strings.TrimSuffix(address, "/thrift")+"/nothing", nil).Call(ctx, "Demo.Get", &Get{}, nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unimplemented || e.Outcome != weft.Refused {
		t.Errorf("at a path without Thrift: %v", err)
	}
}

// TestWireHTTPAnswers gets answers that servers of other kinds give.
func TestWireHTTPAnswers(t *testing.T) {
	const good = "\x80\x01\x00\x02\x00\x00\x00\x03Get\x00\x00\x00\x01\x0b\x00\x00\x00\x00\x00\x02ok\x00"
	var status atomic.Int64
	var body atomic.Value
	addr := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.URL.Path != "/a b" || r.URL.RawQuery != "x=y" || r.Header.Get("Content-Type") != "application/x-thrift" {
			t.Errorf("%s with the Content-Type %q, %v", r.URL, r.Header.Get("Content-Type"), err)
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, body.Load().(string))
	}))
	c := dialHTTP(t, "thrift+http://"+addr+"/a%20b?x=y", &thrift.HTTPConfig{Path: "/other"}, func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 16 << 10 })
	for _, x := range []struct {
		status  int
		body    string
		code    weft.Code
		outcome weft.Outcome
		want    string
	}{
		{200, good, 0, 0, ""},
		{200, "", weft.Internal, weft.OutcomeUnknown, "the answer of 0 bytes"},
		{200, "<html>", weft.Internal, weft.OutcomeUnknown, "is no reply of Thrift"},
		{200, good + "x", weft.Internal, weft.Executed, "stand behind the message"},
		{200, good[:len(good)-2], weft.Internal, weft.Executed, "the message ends within a value"},
		{200, strings.Replace(good, "\x00\x02", "\x00\x01", 1), weft.Internal, weft.OutcomeUnknown, "is no reply of Thrift"},
		{200, "[1,\"Get\",2,1,{\"0\":{\"str\":\"ok\"}}]", 0, 0, ""},
		{200, good[:len(good)-7] + "\x00\x00\x50\x00" + strings.Repeat("x", 20<<10) + "\x00", weft.ResourceExhausted, weft.Executed, "Limits.MaxMessage of the client allows 16384"},
		{200, strings.Repeat("x", 1<<20), weft.ResourceExhausted, weft.Executed, "Limits.MaxMessage of the client allows 16384"},
		{404, "", weft.Unimplemented, weft.Refused, "404"},
		{405, "no", weft.Unknown, weft.Refused, "405"},
		{503, strings.Repeat("x", 1<<20), weft.Unavailable, weft.OutcomeUnknown, "503"},
	} {
		status.Store(int64(x.status))
		body.Store(x.body)
		text, err := weft.Invoke[string](t.Context(), c, "Demo.Get", &Get{})
		if x.code == 0 {
			if err != nil || *text != "ok" {
				t.Errorf("%d %.40q: %v", x.status, x.body, err)
			}
			continue
		}
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != x.code || e.Outcome != x.outcome || !strings.Contains(e.Message, x.want) {
			t.Errorf("%d %.40q: %v, want %v, %v and %q", x.status, x.body, err, x.code, x.outcome, x.want)
		} else if after, ok := e.RetryAfter(); x.status != 200 && (!ok || after != 7*time.Second) {
			t.Errorf("%d: try again after %v", x.status, after)
		}
	}
	err := c.Call(weft.WithMetadata(t.Context(), "a key", "x"), "Demo.Get", &Get{}, nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent {
		t.Errorf("metadata that no header can have: %v", err)
	}
	if _, err := weft.Dial(t.Context(), "thrift+http://"+addr+"/%zz?key=secret", &weft.ClientConfig{Wires: []weft.Wire{thrift.WireHTTP(nil)}, Logger: slog.New(slog.DiscardHandler)}); err == nil ||
		!strings.Contains(err.Error(), "path \"/%zz\"") && !strings.Contains(err.Error(), "path \"%zz\"") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a path that is none: %v", err)
	}
}

// TestLongExceptions: an exception with more bytes than the client allows is not taken for one of a call that was run.
func TestLongExceptions(t *testing.T) {
	const limit = 16 << 10
	long := strings.Repeat("x", limit+1<<10)
	exception := func(text string) string {
		return "\x80\x01\x00\x03\x00\x00\x00\x03Get\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x44\x00" + text + "\x08\x00\x02\x00\x00\x00\x06\x00"
	}
	for name, x := range map[string]struct {
		body    string
		header  []string
		code    weft.Code
		outcome weft.Outcome
		reason  string
	}{
		"an exception":                    {exception(long), nil, weft.ResourceExhausted, weft.OutcomeUnknown, weft.ReasonMessageTooLarge},
		"a refusal":                       {exception(long), []string{"Weft-Code", "Unavailable", "Weft-Outcome", "Refused"}, weft.Unavailable, weft.Refused, ""},
		"a refusal of which less is read": {strings.Repeat(long, 20), []string{"Weft-Code", "NotFound", "Weft-Outcome", "Refused", "Weft-Reason", "NONE"}, weft.NotFound, weft.Refused, "NONE"},
	} {
		addr := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for i := 0; i < len(x.header); i += 2 {
				w.Header().Set(x.header[i], x.header[i+1])
			}
			_, _ = io.WriteString(w, x.body)
		}))
		c := dialHTTP(t, "thrift+http://"+addr, nil, func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = limit })
		err := c.Call(t.Context(), "Demo.Get", &Get{}, nil)
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != x.code || e.Outcome != x.outcome || e.Reason != x.reason {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// TestWireHTTPClosing calls a server that closes each connection with its answer, as those of HTTP/1.0 do.
func TestWireHTTPClosing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	processor := stock.NewDemoProcessor(demo{})
	ended := make(chan struct{})
	go func() { // it ends with the listener
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serveOld(conn, processor)
		}
	}()
	c := dialHTTP(t, "thrift+http://"+l.Addr().String(), &thrift.HTTPConfig{MaxConns: 1}, func(cfg *weft.ClientConfig) { cfg.Backoff, cfg.NoWaitForReady = time.Hour, true })
	for i := range 20 {
		if sum, err := weft.Invoke[int32](t.Context(), c, "Demo.add", &Add{7, int32(i)}); err != nil || *sum != 7+int32(i) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if n := c.Stats().Connects; n != 1 {
		t.Errorf("the client counts %d connections, want 1", n)
	}
	l.Close()
	<-ended
	if err := c.Call(t.Context(), "Demo.ping", &struct{}{}, nil, weft.WithTimeout(time.Second)); err == nil {
		t.Error("a server that is not there has answered")
	}
}

// serveOld answers one request by HTTP/1.0, and closes the connection.
func serveOld(conn net.Conn, processor apache.TProcessor) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: application/x-thrift\r\n\r\n"); err != nil {
		return
	}
	answer := httptest.NewRecorder()
	stockHTTP(processor, thrift.Binary).ServeHTTP(answer, r)
	_, _ = conn.Write(answer.Body.Bytes())
}

// TestWireHTTPSecure calls a server over TLS, by HTTP/1.1 and by HTTP/2.
func TestWireHTTPSecure(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		told := make(chan string, 1)
		srv := httptest.NewUnstartedServer(stockHTTP(stock.NewDemoProcessor(demo{told}), thrift.Binary))
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		defer srv.Close()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		c := dialHTTP(t, "thrift+https://"+srv.Listener.Addr().String()+"/", nil, func(cfg *weft.ClientConfig) { cfg.TLS = &tls.Config{RootCAs: roots} })
		callStock(t, c, told)
		want := "http/1.1"
		if h2 {
			want = "h2"
		}
		if s := c.Peer().TLS(); s == nil || s.NegotiatedProtocol != want {
			t.Errorf("the connection has %+v, want TLS with %s", s, want)
		}
	}
}
