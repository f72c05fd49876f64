package jsonrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/wiretest"
)

// overHTTP is a server with the handler at /rpc.
func overHTTP(cfg *weft.ServerConfig) *weft.Server {
	mux := nethttp.NewServeMux()
	mux.Handle("/rpc", jsonrpc.Handler(&jsonrpc.Config{Service: "Test"}))
	cfg.Doors, cfg.Logger, cfg.Timeout = []weft.Door{http.Door(&http.Config{Handler: mux})}, slog.New(slog.DiscardHandler), -1
	return weft.NewServer(cfg)
}

// TestWireHTTP calls a server with the handler by POST.
func TestWireHTTP(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return jsonrpc.WireHTTP(&jsonrpc.HTTPConfig{Path: "rpc"}) }, Codes: true, Metadata: true,
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			srv := overHTTP(&weft.ServerConfig{Limits: weft.Limits{MaxMessage: 64 << 20, HandshakeTimeout: time.Minute}})
			if err := srv.RegisterName("Test", h); err != nil {
				t.Error(err)
			}
			defer srv.Close()
			wiretest.ServeOne(conn, srv.Serve)
		},
	})
}

// dialHTTP calls a server over HTTP.
func dialHTTP(t *testing.T, address string, cfg *jsonrpc.HTTPConfig, change ...func(*weft.ClientConfig)) *weft.Client {
	t.Helper()
	client := &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.WireHTTP(cfg), jsonrpc.SecureWireHTTP(cfg)}, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(client)
	}
	c, err := weft.Dial(t.Context(), address, client)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
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
	srv := overHTTP(&weft.ServerConfig{Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Scheme != "Bearer" || cred.Token != "secret" {
			return nil, weft.Errorf(weft.Unauthenticated, "the credential is wrong").WithReason("WRONG")
		}
		return "guest", nil
	}})
	must(t, errors.Join(
		weft.Handle(srv, "Test.Get", func(ctx context.Context, id *int) (*string, error) {
			m := weft.MetadataFrom(ctx)
			text := m.Get("color") + " " + m.Get("name")
			if err := weft.SetReplyMetadata(ctx, "shape", "rou\x00nd"); err != nil || *id == 0 {
				return &text, err
			}
			return nil, weft.Errorf(weft.NotFound, "no order %d", *id).WithReason("NO_ORDER")
		}),
		weft.Handle(srv, "Test.Wait", func(ctx context.Context, _ *struct{}) (*string, error) {
			<-ctx.Done()
			canceled <- ctx.Err()
			return nil, ctx.Err()
		})))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	address := "jsonrpc+http://" + l.Addr().String() + "/rpc"
	var m weft.Metadata
	ctx := weft.WithMetadata(weft.WithMetadata(t.Context(), "color", "red"), "name", "caf\u00e9")
	for _, set := range []func(*weft.ClientConfig){
		func(cfg *weft.ClientConfig) { cfg.Credential = weft.StaticCredential("Bearer", "secret") },
		func(cfg *weft.ClientConfig) {
			cfg.ConnCredential = func(context.Context) (weft.Credential, error) {
				return weft.Credential{Scheme: "Bearer", Token: "secret"}, nil
			}
		},
	} {
		// The server knows the methods of Test by their own names too.
		for _, service := range []string{"", "Test"} {
			c := dialHTTP(t, address, &jsonrpc.HTTPConfig{Service: service, Path: "/other"}, set)
			text, err := weft.Invoke[string](ctx, c, "Test.Get", new(int), weft.WithReplyMetadata(&m))
			if err != nil || *text != "red caf\u00e9" || m.Get("shape") != "rou\x00nd" {
				t.Errorf("%v, %v, %v", text, err, m)
			}
			m = weft.Metadata{}
			id := 8
			_, err = weft.Invoke[string](ctx, c, "Test.Get", &id, weft.WithReplyMetadata(&m))
			if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.NotFound || e.Outcome != weft.Executed || e.Reason != "NO_ORDER" || e.Message != "no order 8" || m.Get("shape") == "" {
				t.Errorf("%v, %v", err, m)
			}
			if _, _, ok := jsonrpc.Caught(err); ok {
				t.Error("the error of a weft server is taken for one of another kind")
			}
			// The server knows the time that the call has, and ends it by itself or when the client leaves.
			ends(t, canceled, func(timeout time.Duration) error {
				return c.Call(ctx, "Test.Wait", &struct{}{}, nil, weft.WithTimeout(timeout))
			})
		}
	}
	wantHTTP(t, dialHTTP(t, address, nil).Call(ctx, "Test.Get", new(int), nil), weft.Unauthenticated, weft.Refused, "the credential is wrong")
	elsewhere := dialHTTP(t, strings.TrimSuffix(address, "/rpc")+"/nothing", nil)
	wantHTTP(t, elsewhere.Call(ctx, "Test.Get", new(int), nil), weft.Unimplemented, weft.Refused, "404")
	wantHTTP(t, elsewhere.Call(weft.WithMetadata(ctx, "a key", "x"), "Test.Get", new(int), nil), weft.InvalidArgument, weft.NotSent, "cannot travel by HTTP")
}

func wantHTTP(t *testing.T, err error, code weft.Code, outcome weft.Outcome, has string) {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != code || e.Outcome != outcome || !strings.Contains(e.Message, has) {
		t.Errorf("%v, want %v, %v and %q", err, code, outcome, has)
	}
}

// requestID finds the id of a request.
func requestID(t *testing.T, body string) string {
	t.Helper()
	found := regexp.MustCompile(`"id":(\d+)\}$`).FindStringSubmatch(body)
	if found == nil {
		t.Errorf("%s has no id at its end", body)
		return ""
	}
	return found[1]
}

// foreign is what a server of another kind answers. A $ in the body stands for the id of the request.
type foreign struct {
	status  int
	kind    string
	body    string
	code    weft.Code // 0: the call goes well
	outcome weft.Outcome
	want    string // in the message of the error
}

// TestWireHTTPAnswers gets answers that servers of other kinds give, and what stands between them and a client.
func TestWireHTTPAnswers(t *testing.T) {
	const json, text, good = "application/json", "text/plain", `{"jsonrpc":"2.0","id":$,"result":"ok"}`
	failure := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":$,"error":{"code":%d,"message":"no luck"}}`, code)
	}
	// Its code is none of weft's.
	const funds = `{"jsonrpc":"2.0","id":$,"error":{"code":-32000,"message":"no luck","data":{"code":"INSUFFICIENT_FUNDS","message":"none","reason":"none"}}}`
	long := strings.Repeat("long/", 1000)
	all := []foreign{
		{200, json, good, 0, 0, ""},
		{200, text, " \n" + good + "\r\n", 0, 0, ""},
		{201, "", good, 0, 0, ""},
		{200, json, `{"result":"ok","error":null,"id":$}`, 0, 0, ""},
		{200, json, "", weft.Internal, weft.OutcomeUnknown, "it is empty"},
		{204, "", "", weft.Internal, weft.OutcomeUnknown, "204 No Content"},
		{200, "text/html", "<html>\nPlease log in", weft.Internal, weft.OutcomeUnknown, `Content-Type "text/html" is no response to the request: it is not JSON; it begins with "<html>\nPlease log in"`},
		{200, json, good + "x", weft.Internal, weft.OutcomeUnknown, "it is not JSON"},
		{200, json, good[:20], weft.Internal, weft.OutcomeUnknown, "it is not JSON"},
		{200, json, "[" + good + "]", weft.Internal, weft.OutcomeUnknown, "is not a JSON object"},
		{200, json, `{"status":"well"}`, weft.Internal, weft.OutcomeUnknown, "has no id"},
		{200, json, `{"error":"well"}`, weft.Internal, weft.OutcomeUnknown, "has no id"},
		{200, json, strings.Replace(good, "$", "1000000", 1), weft.Internal, weft.OutcomeUnknown, "it has the id 1000000, and the request"},
		{200, json, strings.Replace(good, "$", "null", 1), weft.Internal, weft.OutcomeUnknown, "it has the id null"},
		{200, json, strings.Replace(good, "$", `"$"`, 1), weft.Internal, weft.OutcomeUnknown, `it has the id "`},
		{200, json, strings.Replace(failure(5), "$", `1000000`, 1), weft.Internal, weft.OutcomeUnknown, "it has the id 1000000"},
		{200, json, `{"jsonrpc":"2.0","id":$,"method":"x"}`, weft.Internal, weft.OutcomeUnknown, "it is a request"},
		{200, json, `{"jsonrpc":"2.0","id":$,"result":7}`, weft.Internal, weft.Executed, "decode the reply"},
		{200, json, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, weft.Internal, weft.Refused, "Parse error"},
		{400, json, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`, weft.Internal, weft.Refused, "Invalid Request"},
		{200, json, funds, weft.Unknown, weft.Executed, "no luck"},
		{401, json, funds, weft.Unauthenticated, weft.Refused, "no luck"},
		{429, json, funds, weft.Unavailable, weft.Refused, "no luck"},
		{200, json, failure(-32601), weft.Unimplemented, weft.Refused, "no luck"},
		{404, json, failure(-32601), weft.Unimplemented, weft.Refused, "no luck"},
		{200, json, failure(-8), weft.Unknown, weft.Executed, "no luck"},
		{500, json, failure(-8), weft.Unknown, weft.Executed, "no luck"},
		{500, json, failure(0), weft.Unknown, weft.Executed, "no luck"},
		{200, json, `{"result":null,"error":"no luck","id":$}`, weft.Unknown, weft.Executed, "no luck"},
		{401, json, failure(-32002), weft.Unauthenticated, weft.Refused, "no luck"},
		{413, json, failure(-32007), weft.ResourceExhausted, weft.Refused, "no luck"},
		{429, json, failure(-32005), weft.Unavailable, weft.Refused, "no luck"},
		{503, json, failure(-32603), weft.Unavailable, weft.OutcomeUnknown, "no luck"},
		{401, "", "", weft.Unauthenticated, weft.Refused, "401 Unauthorized"},
		{401, json, `{"detail":"Not authenticated"}`, weft.Unauthenticated, weft.Refused, `Not authenticated`},
		{403, text, "not from there", weft.PermissionDenied, weft.OutcomeUnknown, "not from there"},
		{404, text, "404 page not found\n", weft.Unimplemented, weft.Refused, `404 Not Found: "404 page not found"`},
		{413, "", "", weft.ResourceExhausted, weft.Refused, "413"},
		{429, text, "slow down", weft.Unavailable, weft.Refused, "slow down"},
		{405, "", "", weft.Unknown, weft.Refused, "405"},
		{407, "", "", weft.Unknown, weft.Refused, "407"},
		{411, "", "", weft.Unknown, weft.Refused, "411"},
		{414, "", "", weft.Unknown, weft.Refused, "414"},
		{415, "", "", weft.Unknown, weft.Refused, "415"},
		{421, "", "", weft.Unknown, weft.Refused, "421"},
		{431, "", "", weft.Unknown, weft.Refused, "431"},
		{500, "text/html", "<html>", weft.Unknown, weft.OutcomeUnknown, "<html>"},
		{503, text, "Work queue depth exceeded", weft.Unavailable, weft.OutcomeUnknown, "Work queue depth exceeded"},
		{503, text, strings.Repeat("x", 1<<20), weft.Unavailable, weft.OutcomeUnknown, "503"},
		{502, json, good, weft.Unavailable, weft.OutcomeUnknown, "502"},
		{308, "", "", weft.Unknown, weft.Refused, "leads to https://other.example/rpc"},
		{301, "", "", weft.Unknown, weft.Refused, "leads to https://other.example/rpc/long/long/"},
		{200, "raw", " 200 " + long, weft.Internal, weft.OutcomeUnknown, "200 long/long/"},
		{500, "raw", " 500 " + long, weft.Unknown, weft.OutcomeUnknown, "500 long/long/"},
		{302, "", "", weft.Unknown, weft.OutcomeUnknown, "leads to https://other.example/rpc"},
		{400, "application/problem+json", `{"code":"InvalidArgument","outcome":"Refused","detail":"a wrong header"}`, weft.InvalidArgument, weft.Refused, "a wrong header"},
		{200, json, `{"jsonrpc":"2.0","id":$,"result":"` + strings.Repeat("x", 17<<10) + `"}`, weft.ResourceExhausted, weft.Executed, "Limits.MaxMessage of the client allows 16384"},
		{200, json, strings.Repeat("x", 1<<20), weft.ResourceExhausted, weft.OutcomeUnknown, "Limits.MaxMessage of the client allows 16384"},
	}
	var now atomic.Pointer[foreign]
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		b, err := io.ReadAll(r.Body)
		if got := string(b); err != nil || r.URL.Path != "/a b" || r.URL.RawQuery != "x=y" || r.Header.Get("Content-Type") != json ||
			!strings.HasPrefix(got, `{"jsonrpc":"2.0","method":"getblock","params":["a",7],"id":`) {
			t.Errorf("%s with the Content-Type %q: %s, %v", r.URL, r.Header.Get("Content-Type"), got, err)
		}
		x := now.Load()
		if x.kind == "raw" { // a status line as net/http sends none
			conn, _, err := nethttp.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1"+x.body+"\r\nRetry-After: 7\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") // the client has the error
			return
		}
		w.Header()["Content-Type"] = nil // none is made of the body
		if x.kind != "" {
			w.Header().Set("Content-Type", x.kind)
		}
		w.Header().Set("Retry-After", "7")
		to := "https://other.example/rpc"
		if x.status == nethttp.StatusMovedPermanently {
			to += "/" + long
		}
		w.Header().Set("Location", to+"?key=secret")
		w.WriteHeader(x.status)
		if x.status != nethttp.StatusNoContent {
			_, _ = io.WriteString(w, strings.Replace(x.body, "$", requestID(t, string(b)), 1)) // the client may not read to the end
		}
	}))
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	c := dialHTTP(t, "jsonrpc+http://"+addr+"/a%20b?x=y", &jsonrpc.HTTPConfig{Service: "node"}, func(cfg *weft.ClientConfig) { cfg.Limits.MaxMessage = 16 << 10 })
	for _, x := range all {
		now.Store(&x)
		reply, err := weft.Invoke[string](t.Context(), c, "node.getblock", &[]any{"a", 7})
		if x.code == 0 {
			if err != nil || *reply != "ok" {
				t.Errorf("%d %.60q: %v", x.status, x.body, err)
			}
			continue
		}
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != x.code || e.Outcome != x.outcome || !strings.Contains(e.Message, x.want) || len(e.Message) > 600 || strings.Contains(e.Message, "secret") {
			t.Errorf("%d %.60q: %v, want %v, %v and %q", x.status, x.body, err, x.code, x.outcome, x.want)
		} else if after, ok := e.RetryAfter(); x.status/100 != 2 && (!ok || after != 7*time.Second) {
			t.Errorf("%d: try again after %v", x.status, after)
		}
	}
	if _, err := weft.Dial(t.Context(), "jsonrpc+http://"+addr+"/%zz?key=secret", &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.WireHTTP(nil)}, Logger: slog.New(slog.DiscardHandler)}); err == nil ||
		!strings.Contains(err.Error(), "%zz") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a path that is none: %v", err)
	}
}

// TestCaught reads the code and the data of the errors of servers of other kinds.
func TestCaught(t *testing.T) {
	var object atomic.Value
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, requestID(t, string(b)), object.Load()) // the client has the error
	}))
	defer srv.Close()
	c := dialHTTP(t, "jsonrpc+http://"+srv.Listener.Addr().String(), nil)
	for _, x := range []struct {
		object string
		code   int
		data   string
		ok     bool
	}{
		{`{"code":3,"message":"execution reverted","data":"0x08c379a0"}`, 3, `"0x08c379a0"`, true},
		{`{"code":-32601,"message":"none"}`, -32601, "", true},
		{`{"code":-32000,"message":"x","data":{"code":"INSUFFICIENT_FUNDS"}}`, -32000, `{"code":"INSUFFICIENT_FUNDS"}`, true},
		{`{"code":-32000,"message":"x","data":{"code":"Internal","outcome":"lost"}}`, -32000, `{"code":"Internal","outcome":"lost"}`, true},
		{`{"code":-32013,"message":"x","data":{"code":"Internal","outcome":"Executed"}}`, 0, "", false},
		{`{"code":"HY000","message":"none","data":{"a":1}}`, 0, `{"a":1}`, true},
		{`{"code":3,"message":"long","data":"` + strings.Repeat("x", 20<<10) + `"}`, 0, "", false},
		{`"a text"`, 0, "", false},
	} {
		object.Store(x.object)
		err := c.Call(t.Context(), "node.call", &struct{}{}, nil)
		if code, data, ok := jsonrpc.Caught(err); err == nil || code != x.code || string(data) != x.data || ok != x.ok {
			t.Errorf("%.80s: %d, %s, %v of %.200v", x.object, code, data, ok, err)
		}
	}
	if _, _, ok := jsonrpc.Caught(errors.New("another error")); ok {
		t.Error("an error that is not one of weft has an error object")
	}
}

// TestNotification: a one-way call is a notification, and Shutdown waits for the server to take it.
func TestNotification(t *testing.T) {
	var ended atomic.Bool
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || string(b) != `{"jsonrpc":"2.0","method":"Log.Add","params":["line"]}` {
			t.Errorf("%s, %v", b, err)
		}
		time.Sleep(100 * time.Millisecond) // for a Shutdown that must not end
		ended.Store(true)
		w.WriteHeader(nethttp.StatusNoContent)
	}))
	defer srv.Close()
	c := dialHTTP(t, "jsonrpc+http://"+srv.Listener.Addr().String(), nil)
	text := "line"
	must(t, c.Notify(t.Context(), "Log.Add", &text))
	must(t, c.Shutdown(t.Context()))
	if !ended.Load() {
		t.Error("Shutdown has ended before the server had answered")
	}
}

// TestNilList: a list that is nil is sent without elements.
func TestNilList(t *testing.T) {
	addr := start(t, nil)
	for scheme, w := range map[string]weft.Wire{"jsonrpc": jsonrpc.Wire(), "jsonrpc+http": jsonrpc.WireHTTP(nil), "jsonrpc+ws": jsonrpc.WebSocketWire("")} {
		c, err := weft.Dial(t.Context(), scheme+"://"+addr, &weft.ClientConfig{Wires: []weft.Wire{w}, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		var list Sum
		if n, err := weft.Invoke[int](t.Context(), c, "Spec.count", &list); err != nil || *n != 0 {
			t.Errorf("%s: %v, %v", scheme, n, err)
		}
		c.Close()
	}
}

// TestWireHTTPSecure calls a server over TLS, by HTTP/1.1 and by HTTP/2.
func TestWireHTTPSecure(t *testing.T) {
	for want, h2 := range map[string]bool{"http/1.1": false, "h2": true} {
		srv := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil || r.URL.Path != "/rpc" {
				t.Errorf("%s, %v", r.URL, err)
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":42}`, requestID(t, string(b)))
		}))
		srv.EnableHTTP2 = h2
		srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it would tell of the certificate that is refused
		srv.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		for _, scheme := range []string{"jsonrpc+http", "jsonrpc+https"} {
			c := dialHTTP(t, scheme+"://"+srv.Listener.Addr().String(), &jsonrpc.HTTPConfig{Path: "rpc"}, func(cfg *weft.ClientConfig) { cfg.TLS = &tls.Config{RootCAs: roots} })
			if n, err := weft.Invoke[int](t.Context(), c, "Node.Answer", &struct{}{}); err != nil || *n != 42 {
				t.Errorf("%s, %s: %v, %v", scheme, want, n, err)
			}
			if s := c.Peer().TLS(); s == nil || s.NegotiatedProtocol != want {
				t.Errorf("%s: the connection has %+v, want TLS with %s", scheme, s, want)
			}
			must(t, c.Ping(t.Context()))
			must(t, c.Shutdown(t.Context()))
		}
		_, err := weft.Dial(t.Context(), "jsonrpc+https://"+srv.Listener.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.SecureWireHTTP(nil)},
			Logger: slog.New(slog.DiscardHandler), NoWaitForReady: true})
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("a server whose certificate the system does not know: %v", err)
		}
		srv.Close()
	}
}

// TestWebSocketPath: an address may name the path of a WebSocket.
func TestWebSocketPath(t *testing.T) {
	var path atomic.Value
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		path.Store(r.URL.RequestURI())
		nethttp.NotFound(w, r)
	}))
	defer srv.Close()
	for rest, want := range map[string]string{"": "/rpc", "/a%20b?x=y": "/a%20b?x=y", "/": "/"} {
		_, err := weft.Dial(t.Context(), "jsonrpc+ws://"+srv.Listener.Addr().String()+rest, &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.WebSocketWire("rpc")},
			Logger: slog.New(slog.DiscardHandler), NoWaitForReady: true})
		wantHTTP(t, err, weft.Unimplemented, weft.NotSent, "404")
		if got := path.Load(); got != want {
			t.Errorf("%q: the server is asked for %v", rest, got)
		}
	}
}

// TestLongValue: a reply beyond the limit ends a connection whose replies stand one behind the other, and the error names the limit.
func TestLongValue(t *testing.T) {
	addr := start(t, nil)
	for scheme, w := range map[string]weft.Wire{"jsonrpc": jsonrpc.Wire(), "jsonrpc+ws": jsonrpc.WebSocketWire("")} {
		c, err := weft.Dial(t.Context(), scheme+"://"+addr, &weft.ClientConfig{Wires: []weft.Wire{w}, Logger: slog.New(slog.DiscardHandler),
			Limits: weft.Limits{MaxMessage: 16 << 10}})
		must(t, err)
		n := 32 << 10
		wantHTTP(t, c.Call(t.Context(), "Spec.text", &n, nil), weft.Unavailable, weft.OutcomeUnknown, "Limits.MaxMessage of the client allows 16384")
		c.Close()
	}
}
