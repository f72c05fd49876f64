package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	gohttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	grpcgo "google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/internal/polltest"
)

// Sum is a number that streams add up.
type Sum struct {
	N int `json:"n" doc:"what has been added up"`
}

// Text is what Echo carries.
type Text struct {
	Text string `json:"text"`
}

// server is a server with all doors, a service with methods of all kinds, and the services that
// commands ask.
type server struct {
	srv     *weft.Server
	at      string // host and port
	address string
}

// begin serves. Errors come from Shop.Fail by their code. A server that authenticates its callers wants
// the token "adm" for weft.Admin.
func begin(t *testing.T, change ...func(*weft.ServerConfig)) *server {
	t.Helper()
	cfg := &weft.ServerConfig{
		Doors:  []weft.Door{grpc.Door(nil), http.Door(nil), jsonrpc.Door(nil), rpcx.Door(nil), netrpc.Door(), thrift.Door(nil)},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(cfg)
	}
	srv := weft.NewServer(cfg)
	own := &admin.Config{Bodies: true}
	if cfg.Authenticate != nil {
		own = &admin.Config{Token: "adm"}
	}
	h, err := health.New(srv, nil)
	err = errors.Join(err,
		srv.Register(Arith{}, weft.For("Mul", weft.Doc("Mul multiplies."), weft.Idempotent())),
		weft.HandleServerStream(srv, "Shop.Count", func(_ context.Context, req *Sum, out *weft.Sender[Sum]) error {
			for i := range req.N {
				if err := out.Send(&Sum{i + 1}); err != nil {
					return err
				}
			}
			return nil
		}),
		weft.HandleClientStream(srv, "Shop.Add", func(_ context.Context, in *weft.Receiver[Sum]) (*Sum, error) {
			total := new(Sum)
			for s, err := range in.All() {
				if err != nil {
					return nil, err
				}
				total.N += s.N
			}
			return total, nil
		}),
		weft.HandleStream(srv, "Shop.Echo", func(_ context.Context, s *weft.Stream[Text, Text]) error {
			for {
				text, err := s.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := s.Send(text); err != nil {
					return err
				}
			}
		}),
		weft.Handle(srv, "Shop.Fail", func(context.Context, *Sum) (*Sum, error) {
			return nil, weft.Errorf(weft.FailedPrecondition, "the shop is closed").WithReason("CLOSED").With(&Text{"until nine"})
		}),
		weft.Handle(srv, "Shop.Tenant", func(ctx context.Context, _ *Sum) (*Text, error) {
			return &Text{weft.MetadataFrom(ctx).Get("tenant")}, weft.SetReplyMetadata(ctx, "served-by", "shop")
		}),
		weft.Handle(srv, "Shop.Slow", func(ctx context.Context, _ *Sum) (*Sum, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		admin.Register(srv, own),
	)
	if err == nil {
		err = grpc.RegisterHealth(srv, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // it ends with the server
		defer close(done)
		srv.Serve(l)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		<-done
	})
	at := l.Addr().String()
	return &server{srv, at, "tcp://" + at}
}

// expect runs a command and checks its exit code and what it writes to both outputs.
func expect(t *testing.T, code int, out, log string, in string, args ...string) {
	t.Helper()
	if err := differs(t, code, out, log, in, args...); err != nil {
		t.Error(err)
	}
}

// eventually is expect for a command that reports what happens within a short time, in which nothing may happen on a busy
// machine: it is run until it is as expected.
func eventually(t *testing.T, code int, out, log string, args ...string) {
	t.Helper()
	polltest.Until(t, patience, "a command does what is expected", func() error { return differs(t, code, out, log, "", args...) })
}

// within is expect for a command that ends with its time: a busy machine may need more before that, which it gets.
func within(t *testing.T, timeout time.Duration, code int, out, log string, args ...string) {
	t.Helper()
	for {
		err := differs(t, code, out, log, "", append([]string{"--timeout", timeout.String()}, args...)...)
		if err == nil {
			return
		}
		if timeout *= 4; timeout > patience {
			t.Error(err)
			return
		}
	}
}

// differs runs a command and tells how it differs from what is expected; nil: not at all.
func differs(t *testing.T, code int, out, log string, in string, args ...string) error {
	t.Helper()
	gotCode, gotOut, gotLog := run(t, in, args...)
	if gotCode != code || !strings.Contains(gotOut, out) || !strings.Contains(gotLog, log) || out == "" && gotOut != "" {
		return fmt.Errorf("weft %s\nreturns %d, want %d\nwrites %q, want %q in it\nlogs %q, want %q in it", strings.Join(args, " "), gotCode, code, gotOut, out, gotLog, log)
	}
	return nil
}

// TestCallWires makes the same calls by all wires.
func TestCallWires(t *testing.T) {
	both, byConnect := begin(t), begin(t, func(cfg *weft.ServerConfig) { cfg.Doors = connect.Doors(nil) })
	for _, scheme := range []string{"tcp", "grpc", "http", "jsonrpc", "jsonrpc1", "rpcx", "rpcx+http", "connect+http", "connect+h2c"} {
		t.Run(scheme, func(t *testing.T) {
			s := both
			if strings.HasPrefix(scheme, "connect") {
				s = byConnect
			}
			address := scheme + "://" + s.at
			expect(t, 0, "42\n", "", "", "call", address, "Arith.Mul", `{"A":6,"B":7}`)
			expect(t, 0, "42\n", "", `{"A":6,"B":7}`, "call", "--server", address, "Arith.Mul", "-d", "-")
			expect(t, 3, "", "the shop is closed", "", "call", address, "Shop.Fail", "{}")
			if scheme != "http" && scheme != "connect+http" { // package admin tells plain HTTP nothing without a credential
				expect(t, 2, "", `unknown field "C" in the request, which has the fields A, B;`, "", "call", address, "Arith.Mul", `{"A":6,"C":7}`)
			}
			expect(t, 0, "0\n", "", "", "call", address, "Arith.Mul", `{"A":6,"C":7}`, "--allow-unknown")
			expect(t, 3, "", "'weft list' names the methods", "", "call", address, "Shop.Nothing", "{}")
			if scheme == "jsonrpc" || scheme == "jsonrpc1" || strings.HasPrefix(scheme, "rpcx") {
				return // it has no streams
			}
			expect(t, 0, `"acme"`, `< served-by: "shop"`, "", "call", address, "Shop.Tenant", "-H", "tenant:acme", "--meta")
			expect(t, 0, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", "", "", "call", address, "Shop.Count", `{"n":3}`)
			expect(t, 0, `{"n":6}`, "", `{"n":1} {"n":2} {"n":3}`, "call", address, "Shop.Add", "-d", "-")
			if scheme == "connect+http" {
				return // over HTTP/1.1 it has no streams in both directions
			}
			expect(t, 0, "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "", `{"text":"a"}{"text":"b"}`, "call", address, "Shop.Echo", "-d", "-")
		})
	}
	s := both
	expect(t, 3, "", "the shop is closed: the server answers as one of Connect: call it by connect+http://", "", "call", "http://"+byConnect.at, "Shop.Fail", "{}")
	expect(t, 0, "42\n", "", "", "call", "netrpc://"+s.at, "Arith.Mul", `{"A":6,"B":7}`, "--reply", "0")
	expect(t, 0, "null\n", "give a sample of it with --reply", "", "call", "netrpc://"+s.at, "Arith.Mul", `{"A":6,"B":7}`)
	// A stream of one message is a unary call, where the server does not tell the kind of the method.
	expect(t, 0, "42\n", "* attempt 1 at "+s.at+" by http: opened in", "", "call", "http://"+s.at, "Arith.Mul", "-v", `{"A":6,"B":7}`)
	expect(t, 0, "0\n", "* the fields of the request are not checked", "", "call", "http://"+s.at, "Arith.Mul", "-v", `{"A":6,"C":7}`)
	expect(t, 3, "", "* detail \"main.Text\": ", "", "call", s.address, "Shop.Fail", "-v")
	expect(t, 0, "42\n", "* attempt 1 at "+s.at+" by grpc: OK in", "", "call", "grpc://"+s.at, "Arith.Mul", "-v", `{"A":6,"B":7}`)
	expect(t, 1, "", "weft: there is no service or method \"Arith.Nope\" here; 'weft list' names what there is\n", "", "describe", s.address, "Arith.Nope")
	expect(t, 2, "", "see 'weft call --help'\n", "", "call", s.address, "Arith")
	for _, scheme := range []string{"thrift", "thrift-compact", "thrift-unframed", "thrift-theader", "thrift-multiplexed", "thrift-compact-theader-multiplexed"} {
		for _, request := range []string{`{"A":6,"B":7}`, `{"1":6,"2":7}`, `{"2:i64":7,"1:i32":6}`} {
			expect(t, 0, "42\n", "", "", "call", scheme+"://"+s.at, "Arith.Mul", request, "--reply", "0")
		}
		expect(t, 0, "null\n", "", "", "call", scheme+"://"+s.at, "Arith.Mul", `{"A":6,"B":7}`)
		expect(t, 3, "", "the shop is closed", "", "call", scheme+"://"+s.at, "Shop.Fail", "{}")
	}
	expect(t, 0, `"1": "acme"`, "", "", "call", "thrift-theader-multiplexed://"+s.at, "Shop.Tenant", "-H", "tenant:acme", "--reply", `{"1":""}`)
	mux := gohttp.NewServeMux()
	mux.Handle("/thrift", thrift.Handler(nil))
	web := begin(t, func(cfg *weft.ServerConfig) { cfg.Doors = []weft.Door{http.Door(&http.Config{Handler: mux})} })
	for _, scheme := range []string{"thrift+http", "thrift-compact-multiplexed+http"} {
		expect(t, 0, "42\n", "", "", "call", scheme+"://"+web.at+"/thrift", "Arith.Mul", `{"A":6,"B":7}`, "--reply", "0")
	}
	rpc := gohttp.NewServeMux()
	rpc.Handle("/rpc", jsonrpc.Handler(&jsonrpc.Config{Service: "Arith"}))
	web = begin(t, func(cfg *weft.ServerConfig) { cfg.Doors = []weft.Door{http.Door(&http.Config{Handler: rpc})} })
	for _, scheme := range []string{"jsonrpc+http", "jsonrpc+ws"} {
		address := scheme + "://" + web.at + "/rpc"
		expect(t, 0, "42\n", "", "", "call", address, "Arith.Mul", `{"A":6,"B":7}`)
		expect(t, 0, "42\n", "", "", "call", address, "Arith.Mul", "[6,7]")
		expect(t, 3, "", "the shop is closed", "", "call", address, "Shop.Fail", "{}")
		expect(t, 3, "", "'weft list' names the methods", "", "call", address, "Shop.Nothing", "{}")
	}
	expect(t, 0, "42\n", "", "", "call", "jsonrpc+http://"+web.at+"/rpc", "_.Mul", `{"A":6,"B":7}`)
	expect(t, 0, `"acme"`, `< served-by: "shop"`, "", "call", "jsonrpc+http://"+web.at+"/rpc", "Shop.Tenant", "-H", "tenant:acme", "--meta")
	expect(t, 3, "", "404", "", "call", "jsonrpc+http://"+web.at, "Arith.Mul", "{}")
	expect(t, 2, "", "want bool, byte", "", "call", "thrift://"+s.at, "Arith.Mul", `{"1:int":6}`)
}

// TestCallForeign calls a server of grpc-go, which describes its types by reflection.
func TestCallForeign(t *testing.T) {
	srv := grpcgo.NewServer()
	healths := grpchealth.NewServer()
	grpc_health_v1.RegisterHealthServer(srv, healths)
	reflection.Register(srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	defer srv.Stop()
	healths.SetServingStatus("Shop", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	address := "grpc://" + l.Addr().String()
	expect(t, 0, "grpc.health.v1.Health.Watch", "", "", "list", address, "-o", "name", "--all")
	expect(t, 0, "of administration, health and reflection left out", "", "", "list", address)
	expect(t, 0, "[]\n", "", "", "list", address, "-o", "json")
	expect(t, 0, "Service string `json:\"service\"`", "", "", "describe", address, "grpc.health.v1.Health.Check")
	expect(t, 0, "{\"status\":\"SERVING\"}\n", "", "", "call", address, "grpc.health.v1.Health.Check", "-o", "json")
	expect(t, 0, `"status": "NOT_SERVING"`, "", "", "call", address, "grpc.health.v1.Health.Check", `{"service":"Shop"}`)
	expect(t, 3, "", "NotFound", "", "call", address, "grpc.health.v1.Health.Check", `{"service":"None"}`)
	within(t, 2*time.Second, 3, "{\"status\":\"SERVING\"}\n", "DeadlineExceeded", "call", address, "grpc.health.v1.Health.Watch")
	expect(t, 2, "", `unknown field "servcie" in the request, which has only the field service;`, "", "call", address, "grpc.health.v1.Health.Check", `{"servcie":"None"}`)
	expect(t, 0, "SERVING", "", "", "call", address, "grpc.health.v1.Health.Check", `{"servcie":"None"}`, "--allow-unknown")
	expect(t, 2, "", "'weft describe' tells the fields", "", "call", address, "grpc.health.v1.Health.Check", `{"service":7}`)
	expect(t, 1, "not serving", "", "", "health", address, "Shop")
}

// TestCall tries what call can do on one wire.
func TestCall(t *testing.T) {
	s := begin(t)
	address := s.address
	file := write(t, "request.json", `{"A":6,"B":7}`)
	expect(t, 0, "42\n", "", "", "call", address, "Arith.Mul", "@"+file)
	expect(t, 0, "42\n", "", "", "call", address, "Arith.Mul", "-d", "@"+file, "-o", "json")
	expect(t, 0, "product 42\n", "", "", "call", address, "Arith.Mul", "@"+file, "-o", "go-template=product {{.}}")
	expect(t, 0, "\"n\": 1\n", "", "", "call", address, "Shop.Count", `{"n":1}`, "-o", "yaml")
	expect(t, 0, "42\n", "* Arith.Mul: OK in ", "", "call", address, "Arith.Mul", "@"+file, "-v")
	expect(t, 0, "", "", "", "call", address, "Arith.Mul", "@"+file, "--oneway")
	expect(t, 0, "{\"n\":1}\n", "", "", "call", address, "Shop.Count", `{"n":1}`, "-o", "json", "--timeout", "30s")
	expect(t, 3, `{"error":{"code":"FailedPrecondition","message":"the shop is closed","reason":"CLOSED","outcome":"Executed"`, "", "",
		"call", address, "Shop.Fail", "-o", "json")
	expect(t, 3, "", "'weft describe Arith.Mul --as template' writes a request", "", "call", address, "Arith.Mul", `{"A":"six"}`)
	within(t, 100*time.Millisecond, 3, "", "DeadlineExceeded", "call", address, "Shop.Slow")
	within(t, 100*time.Millisecond, 3, "", "--timeout gives a call more time", "call", address, "Shop.Slow")
	// Nothing is sent of a request with a field that the method does not have, nor of a stream behind it.
	expect(t, 2, "", `Shop.Add: there is the unknown field "m" in the request, which has only the field n;`, `{"n":1} {"m":2} {"n":3}`, "call", address, "Shop.Add", "-d", "-")
	expect(t, 2, "", `unknown field "m"`, "", "call", address, "Shop.Count", `{"m":2}`)
	expect(t, 2, "", "receives one message", "", "call", address, "Arith.Mul", `{"A":6}{"A":7}`)
	expect(t, 2, "", "is no JSON", "", "call", address, "Arith.Mul", `{"A":`)
	expect(t, 2, "", "has no value", "", "call", address, "Arith.Mul", "-d", "-")
	expect(t, 2, "", "want Service.Method", "", "call", address)
	expect(t, 2, "", "want one of them", "", "call", address, "Arith.Mul", "--instance", "a")
	expect(t, 2, "", "--data is given too", "", "call", address, "Arith.Mul", "{}", "-d", "{}")
	expect(t, 2, "", "no such file", "", "call", address, "Arith.Mul", "@/nowhere")
	for _, method := range []string{"Arith.Mul", "Shop.Add"} {
		expect(t, 2, "", "cannot be read: ", "", "call", address, method, "@"+t.TempDir())
	}
	expect(t, 2, "", "add --tls", "", "call", address, "Arith.Mul", "-k")
	expect(t, 2, "", "'weft help addresses'", "", "call", "bogus://"+s.at, "Arith.Mul")
	expect(t, 4, "", "'weft doctor tcp://", "", "call", "tcp://"+localPort(t), "Arith.Mul", "--timeout", "5s")
}

// TestCallLarge gets a reply that is larger than weft's own limit.
func TestCallLarge(t *testing.T) {
	s := begin(t, func(cfg *weft.ServerConfig) { cfg.Limits.MaxMessage = 32 << 20 })
	err := weft.Handle(s.srv, "Shop.Large", func(_ context.Context, n *Sum) (*Text, error) { return &Text{strings.Repeat("x", n.N)}, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"tcp", "grpc", "http", "jsonrpc"} {
		code, out, log := run(t, "", "call", scheme+"://"+s.at, "Shop.Large", `{"n":10000000}`)
		if code != 0 || len(out) < 10000000 {
			t.Errorf("by %s call returns %d and %d bytes: %s", scheme, code, len(out), log)
		}
	}
}

// TestCallRefused calls a server that wants a token.
func TestCallRefused(t *testing.T) {
	s := begin(t, func(cfg *weft.ServerConfig) {
		cfg.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token != "secret" {
				return nil, errors.New("wrong token")
			}
			return "ann", nil
		}
	})
	expect(t, 5, "", "--token-file", "", "call", s.address, "Arith.Mul")
	expect(t, 0, "0\n", "", "", "call", s.address, "Arith.Mul", "--token-file", write(t, "token", "secret\n"))
	t.Setenv("WEFT_TOKEN", "secret")
	expect(t, 0, "0\n", "", "", "call", "http://"+s.at, "Arith.Mul")
}

// TestForeignHTTP calls servers of HTTP that are not of weft: one answers with errors of JSON-RPC, one not at all.
func TestForeignHTTP(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`
	srv := httptest.NewServer(gohttp.HandlerFunc(func(w gohttp.ResponseWriter, r *gohttp.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/Shop/Get" {
			io.WriteString(w, `{"error":"none","n":1}`)
			return
		}
		io.WriteString(w, answer)
	}))
	defer srv.Close()
	expect(t, 3, "", "no such method", "", "call", srv.URL, "Shop.Nothing")
	expect(t, 3, `{"error":`, "no such method", "", "call", srv.URL, "Shop.Nothing", "-o", "json")
	// What it answers is no reply: it answers every path.
	expect(t, 3, "", "a method that no server has", "", "call", srv.URL, "Shop.Get")
	page := httptest.NewServer(gohttp.HandlerFunc(func(w gohttp.ResponseWriter, r *gohttp.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/Shop/Page":
			io.WriteString(w, "<html></html>")
		case "/Shop/Get":
			io.WriteString(w, `{"n":1}`)
		default:
			gohttp.NotFound(w, r)
		}
	}))
	defer page.Close()
	expect(t, 3, "", "200 OK with text/html, which is no JSON", "", "call", page.URL, "Shop.Page")
	expect(t, 3, "", "404 Not Found with text/plain", "", "call", page.URL, "Shop.Nothing")
	expect(t, 0, `"n":1`, "", "", "call", page.URL, "Shop.Get")
	// A server of weft without the door closes the connection, which is no answer.
	plain := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err := plain.Register(Arith{}); err != nil {
		t.Fatal(err)
	}
	noDoor, err := plain.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go plain.Serve(noDoor) // it ends with the server
	defer plain.Close()
	for _, flags := range [][]string{nil, {"--oneway"}, {"--allow-unknown"}} {
		expect(t, 3, "", "it may not speak HTTP", "", append([]string{"call", "http://" + noDoor.Addr().String(), "Arith.Mul", `{"A":6,"B":7}`}, flags...)...)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, flags := range [][]string{nil, {"--oneway"}} {
		within(t, time.Second, 4, "", "Shop.Get at "+l.Addr().String()+": DeadlineExceeded: the server has not answered in time; 'weft doctor' looks into it",
			append([]string{"call", "http://" + l.Addr().String(), "Shop.Get"}, flags...)...)
	}
}

// TestWithoutScheme names a server by host and port alone.
func TestWithoutScheme(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	expect(t, 0, "42\n", "", "", "call", s.at, "Arith.Mul", `{"A":6,"B":7}`)
	expect(t, 0, "42\n", "", "", "call", "--server", s.at, "Arith.Mul", `{"A":6,"B":7}`)
	expect(t, 0, "Mul multiplies.", "", "", "list", s.at)
	expect(t, 0, "Mul multiplies.", "", "", "list", s.at, "Arith")
	expect(t, 0, "type Args struct", "", "", "describe", s.at, "Arith.Mul")
	expect(t, 0, "serving", "", "", "health", s.at)
	eventually(t, 0, "Arith.Mul", "", "top", s.at, "--count", "1", "--interval", "200ms")
	expect(t, 0, "Arith.Mul", "", "", "tap", s.at, "--count", "1", "--method", "Arith.Mul")
	expect(t, 0, "it is serving", "", "", "doctor", s.at)
	eventually(t, 0, "99 %", "", "bench", s.at, "Arith.Mul", "--duration", "100ms", "--warm-up", "0s")
	expect(t, 4, "", "tcp://", "", "call", localPort(t), "Arith.Mul", "--timeout", "5s")
}

// TestNoReflection asks a server of gRPC that does not describe itself.
func TestNoReflection(t *testing.T) {
	srv := grpcgo.NewServer()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l) // it ends with the server
	defer srv.Stop()
	for _, args := range [][]string{{"list"}, {"describe", "Shop.Get"}} {
		args = append([]string{args[0], "grpc://" + l.Addr().String()}, args[1:]...)
		code, out, log := run(t, "", args...)
		if code != 1 || out != "" || !strings.Contains(log, "gRPC's reflection") || strings.Contains(log, "admin.Register") {
			t.Errorf("weft %v returns %d, want 1 and the reflection in:\n%s%s", args, code, out, log)
		}
	}
}

// TestAdminToken asks weft.Admin of a server that wants another token for its other methods.
func TestAdminToken(t *testing.T) {
	s := begin(t, func(cfg *weft.ServerConfig) {
		cfg.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token != "secret" {
				return nil, errors.New("wrong token")
			}
			return "ann", nil
		}
	})
	busy(t, s.address, "secret")
	token := write(t, "token", "secret\n")
	for _, flags := range [][]string{
		{"--token-file", token, "-H", "admin-authorization:Bearer adm"},
		{"--token-file", token, "--admin-token-file", write(t, "admin", "adm\n")},
	} {
		for _, test := range []struct{ out, log, args string }{
			{"Arith.Mul", "", "top --interval 200ms --count 1"},
			{"Mul", "", "list"},
			{"", "are shown", "tap --count 1"},
			{"it is serving", "", "doctor"},
		} {
			polltest.Until(t, patience, test.args, func() error {
				args := append(strings.Fields(test.args), flags...)
				code, out, log := run(t, "", append(args, s.address)...)
				if code != 0 || !strings.Contains(out, test.out) || !strings.Contains(log, test.log) {
					return fmt.Errorf("weft %v returns %d, want %q and %q in:\n%s%s", args, code, test.out, test.log, out, log)
				}
				return nil
			})
		}
		expect(t, 0, "type Args struct", "", "", append([]string{"describe", s.address, "Arith.Mul"}, flags...)...)
	}
	expect(t, 5, "", "Config.Token", "", "top", s.address, "--token-file", token)
}

// TestCallRegistry calls a service that a registry has.
func TestCallRegistry(t *testing.T) {
	s := begin(t)
	path := write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"id": "a", "address": %q}], "Shop": [{"address": "tcp://%s"}]}}`, s.address, localPort(t)))
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, "42\n", "attempt 1 at "+s.at+" by weft: OK", "", "call", "Arith.Mul", `{"A":6,"B":7}`, "-v")
	expect(t, 0, "42\n", "", "", "call", "Arith.Mul", `{"A":6,"B":7}`, "--instance", "a", "--hash-key", "k", "--idempotent")
	expect(t, 2, "", `unknown field "C"`, "", "call", "Arith.Mul", `{"A":6,"C":7}`)
	expect(t, 1, "", `no instance "b", only a`, "", "call", "Arith.Mul", "--instance", "b")
	// No time is waited for a server to register: the test would not end within its own.
	expect(t, 4, "", "no server of Nothing is registered", "", "call", "Nothing.At", "--timeout", "1h")
	expect(t, 4, "", "see 'weft explain Nothing.At'", "", "call", "Nothing.At", "--timeout", "1h")
	expect(t, 4, `"reason":"`+weft.ReasonNoServer, "", "", "call", "Nothing.At", "-o", "json")
	expect(t, 4, "", "see 'weft explain Nothing.At'", "", "bench", "Nothing.At", "--timeout", "1h")
	// The server that could not be reached is named.
	within(t, 2*time.Second, 4, "", "attempt 1 at tcp://127.0.0.1:", "call", "Shop.Fail", "-v")
	expect(t, 4, "", "Shop.Fail", "", "call", "Shop.Fail", "--timeout", "2s")

	// A registry that does not answer is waited for, and the command says so.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	expect(t, 4, "", "waiting for etcd "+silent.Addr().String()+", up to 3s", "", "call", "Shop.Fail", "--registry", "etcd://"+silent.Addr().String(), "--timeout", "3s")
	expect(t, 0, "Mul multiplies.", "", "", "list", "Arith")
	expect(t, 0, "type Args struct", "", "", "describe", "Arith.Mul")
	expect(t, 0, "serving", "", "", "health", "Arith")
	within(t, 2*time.Second, 4, "not reachable", "", "health", "Shop")
}

// TestCallVersions calls a service whose servers are of two versions: a field of one of them is known.
func TestCallVersions(t *testing.T) {
	type first struct{ A int }
	type second struct{ A, B int }
	one, two := begin(t), begin(t)
	err := errors.Join(
		weft.Handle(one.srv, "Store.Put", func(_ context.Context, r *first) (*first, error) { return r, nil }),
		weft.Handle(two.srv, "Store.Put", func(_ context.Context, r *second) (*first, error) { return &first{r.A}, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, "registry.json", fmt.Sprintf(`{"services": {"Store": [{"id": "a", "address": %q}, {"id": "b", "address": %q}]}}`, one.address, two.address))
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, `"A": 7`, "", "", "call", "Store.Put", `{"A":7,"B":8}`)
	expect(t, 2, "", `unknown field "C"`, "", "call", "Store.Put", `{"A":7,"C":8}`)
	expect(t, 2, "", `unknown field "B" in the request, which has only the field A;`, "", "call", "Store.Put", `{"A":7,"B":8}`, "--instance", "a")
}

// TestCallLost loses the connection of a stream of gRPC, which ends then with an error and not as a whole one does.
func TestCallLost(t *testing.T) {
	s := begin(t)
	streaming := make(chan struct{})
	err := weft.HandleServerStream(s.srv, "Shop.Endless", func(ctx context.Context, _ *Sum, out *weft.Sender[Sum]) error {
		if err := out.Send(&Sum{1}); err != nil {
			return err
		}
		close(streaming)
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	go func() { // it ends with the connection, which it closes
		client, err := between.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", s.at)
		if err != nil {
			return
		}
		defer server.Close()
		go io.Copy(server, client) // these end when the connections are closed
		go io.Copy(client, server)
		select {
		case <-streaming:
		case <-time.After(patience):
		}
	}()
	code, _, log := run(t, "", "call", "grpc://"+between.Addr().String(), "Shop.Endless", "{}")
	if code != 3 || !strings.Contains(log, "connection lost") {
		t.Errorf("the exit code is %d, want 3, and the lost connection in:\n%s", code, log)
	}
}

// TestCallProto calls a method with messages of Protocol Buffers: the fields that are known are those that the server reads, by
// the names of protojson and of the .proto file.
func TestCallProto(t *testing.T) {
	s := begin(t)
	if err := weft.Handle(s.srv, "Types.Echo", func(_ context.Context, d *descriptorpb.FieldDescriptorProto) (*descriptorpb.FieldDescriptorProto, error) {
		return d, nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{s.address, "jsonrpc://" + s.at} {
		for _, name := range []string{"type_name", "typeName"} {
			expect(t, 0, `"typeName": "x"`, "", "", "call", address, "Types.Echo", `{"`+name+`":"x"}`)
		}
		expect(t, 2, "", `unknown field "typename"`, "", "call", address, "Types.Echo", `{"typename":"x"}`)
	}
}

// TestFrozen asks the servers of a service of which the first takes connections and answers nothing: it takes no time of the
// second, which answers.
func TestFrozen(t *testing.T) {
	s := begin(t)
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	path := write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"id": "a", "address": "tcp://%s"}, {"id": "b", "address": %q}]}}`, frozen.Addr(), s.address))
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	wants := map[string]string{"health Arith": "serving", "list Arith": "Mul multiplies.", "describe Arith.Mul": "type Args struct", "schema Arith -o typescript": "interface Arith"}
	programs := make(map[string]*process)
	for args := range wants { // at once: each waits for the first server
		programs[args] = start(t, append(strings.Fields(args), "--timeout", "20s")...)
	}
	for args, p := range programs {
		select {
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("weft %s still runs", args)
		}
		code := 0
		if strings.HasPrefix(args, "health") {
			code = 4 // one is not reachable
		}
		if got := p.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(p.text(), wants[args]) {
			t.Errorf("weft %s returns %d, want %d, and %q in:\n%s", args, got, code, wants[args], p.text())
		}
	}
}

// TestShow asks a server what it serves, and whether it is ready.
func TestShow(t *testing.T) {
	s := begin(t)
	for _, scheme := range []string{"tcp", "grpc"} {
		address := scheme + "://" + s.at
		expect(t, 0, "Shop.Count", "", "", "list", address, "-o", "name")
		expect(t, 0, "server stream", "", "", "list", address, "Shop")
		expect(t, 0, `{
  "A": 0,
  "B": 0
}
`, "", "", "describe", address, "Arith.Mul", "--as", "template")
		expect(t, 0, "N int64 `json:\"n", "", "", "describe", address, "Shop.Add")
		expect(t, 0, `"$ref": "#/$defs/weft.Args"`, "", "", "describe", address, "Arith", "--as", "schema")
		expect(t, 0, `"kind": "bidirectional stream"`, "", "", "describe", address, "Shop", "-o", "json")
		expect(t, 0, "serving", "", "", "health", address)
	}
	expect(t, 2, "", "want go, proto, schema or template", "", "describe", s.address, "Arith", "--as", "thrift")
	expect(t, 0, "service Shop {\n  rpc Add(stream Sum) returns (Sum);\n}", "", "", "describe", s.address, "Shop.Add", "--as", "proto")
	expect(t, 1, "", "--as schema has a form for all types", "", "describe", s.address, "Arith", "--as", "proto")
	expect(t, 1, "", "there is no service or method", "", "describe", s.address, "Nothing")
	expect(t, 5, "", "ask it by tcp://", "", "list", "http://"+s.at)
	expect(t, 2, "", "want the address", "", "health")
	expect(t, 1, "unknown service", "", "", "health", s.address, "Nothing")

	// The fields stand in the order of their declaration, by both wires.
	type line struct {
		Zone   string `json:"zone"`
		Amount uint32 `json:"amount"`
		Count  int32  `json:"count"`
	}
	ordered := begin(t)
	if err := weft.Handle(ordered.srv, "Store.Put", func(_ context.Context, l *line) (*line, error) { return l, nil }); err != nil {
		t.Fatal(err)
	}
	expect(t, 0, "{\n  \"zone\": \"\",\n  \"amount\": 0,\n  \"count\": 0\n}\n", "", "", "describe", ordered.address, "Store.Put", "--as", "template")
	expect(t, 0, "Count int32", "", "", "describe", ordered.address, "Store.Put")
	if err := grpc.RegisterReflection(ordered.srv); err != nil {
		t.Fatal(err)
	}
	expect(t, 0, "{\n  \"zone\": \"\",\n  \"amount\": 0,\n  \"count\": 0\n}\n", "", "", "describe", "grpc://"+ordered.at, "Store.Put", "--as", "template")

	plain := weft.NewServer(nil)
	l, err := plain.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go plain.Serve(l) // it ends with the server
	defer plain.Close()
	expect(t, 1, "", "admin.Register", "", "list", "tcp://"+l.Addr().String())
	expect(t, 0, "reachable", "", "", "health", "tcp://"+l.Addr().String())
}

// write writes a file in a folder of the test.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writeFile(t, path, content)
	return path
}
