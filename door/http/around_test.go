package http_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/internal/polltest"
)

// waitForEnd is a handler that returns when its context ends.
func waitForEnd(ctx context.Context, _ *User) (*User, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestOrigins has pages of other origins call.
func TestOrigins(t *testing.T) {
	closed := start(t, nil, nil)
	if answer, body := closed.do("POST", "/Users/Get", "{}", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); answer.StatusCode != 403 {
		t.Errorf("%s %s", answer.Status, body)
	}
	if answer, _ := closed.do("POST", "/Users/Get", "", "Origin", "https://evil.example"); answer.StatusCode != 403 {
		t.Errorf("without a body: %s", answer.Status)
	}
	if answer, _ := closed.do("GET", "/Users/Get?id=7", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"); answer.StatusCode != 403 {
		t.Errorf("an image of a page of another origin: %s", answer.Status)
	}
	if answer, _ := closed.do("GET", "/users/7", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"); answer.StatusCode != 200 {
		t.Errorf("a link of a page of another origin to an address for GET: %s", answer.Status)
	}
	if answer, _ := closed.do("OPTIONS", "/Users/Get", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); answer.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", answer.Header)
	}
	if answer, _ := closed.do("POST", "/Users/Get", "{}", "Origin", closed.url, "Sec-Fetch-Site", "same-origin"); answer.StatusCode != 200 {
		t.Errorf("the same origin: %s", answer.Status)
	}

	r := start(t, &http.Config{Origins: []string{"https://app.example", "https://*.shop.example"}}, nil)
	for origin, allowed := range map[string]bool{"https://app.example": true, "https://a.shop.example": true, "https://shop.example": false,
		"https://evilshop.example": false, "http://a.shop.example": false, "https://app.example.evil.example": false, "null": false} {
		answer, _ := r.do("OPTIONS", "/users/7", "", "Origin", origin, "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "content-type")
		got := answer.Header
		if allowed != (got.Get("Access-Control-Allow-Origin") == origin) || allowed != strings.Contains(got.Get("Access-Control-Allow-Methods"), "PUT") ||
			got.Get("Access-Control-Allow-Credentials") != "" || got.Get("Vary") == "" || answer.StatusCode != 204 {
			t.Errorf("preflight from %s: %s %v", origin, answer.Status, got)
		}
		answer, _ = r.do("PUT", "/users/7", "{}", "Origin", origin, "Sec-Fetch-Site", "cross-site")
		if allowed != (answer.StatusCode == 200) || allowed != (answer.Header.Get("Access-Control-Allow-Origin") == origin) {
			t.Errorf("from %s: %s %v", origin, answer.Status, answer.Header)
		}
	}
	all := start(t, &http.Config{Origins: []string{"*"}}, nil)
	if answer, _ := all.do("POST", "/Users/Get", "{}", "Origin", "https://any.example"); answer.Header.Get("Access-Control-Allow-Origin") != "*" || answer.StatusCode != 200 {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
}

// TestHandlerBeside asks for what is not a method.
func TestHandlerBeside(t *testing.T) {
	r := start(t, &http.Config{Prefix: "api", Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if http.ConnFrom(r.Context()) == nil {
			t.Error("no connection in the context")
		}
		io.WriteString(w, "page "+r.Method+" "+r.URL.Path)
	})}, nil)
	for _, c := range [][3]string{{"GET", "/", "page GET /"}, {"POST", "/Users/Get", "page POST /Users/Get"}, {"POST", "/api/Users/Get", "{}"},
		{"POST", "/api/Users/None", "page POST /api/Users/None"}, {"GET", "/users/1", `{"id":1}`},
		{"GET", "/healthz", "page GET /healthz"}, {"GET", "/readyz", "page GET /readyz"}, {"POST", "/readyz", "page POST /readyz"}} {
		if _, body := r.do(c[0], c[1], ""); body != c[2] {
			t.Errorf("%s %s: %s, want %s", c[0], c[1], body, c[2])
		}
	}
	if http.ConnFrom(context.Background()) != nil {
		t.Error("a connection in a context of no request")
	}
}

// TestReadiness follows Config.Ready and a shutdown.
func TestReadiness(t *testing.T) {
	var sick atomic.Bool
	r := start(t, &http.Config{Ready: func() error {
		if sick.Load() {
			return errors.New("the database is gone")
		}
		return nil
	}}, func(c *weft.ServerConfig) { c.Limits.HandshakeTimeout = patience }) // a busy machine sends the second half of a request late
	for _, path := range []string{"/healthz", "/readyz"} {
		if answer, body := r.do("GET", path, ""); answer.StatusCode != 200 || body != "ok\n" {
			t.Errorf("%s: %s %s", path, answer.Status, body)
		}
		if answer, _ := r.do("POST", path, ""); answer.StatusCode != 405 && answer.StatusCode != 404 {
			t.Errorf("POST %s: %s", path, answer.Status)
		}
	}
	sick.Store(true)
	if answer, body := r.do("GET", "/readyz", ""); answer.StatusCode != 503 || body != "the database is gone\n" {
		t.Errorf("%s %s", answer.Status, body)
	}
	sick.Store(false)

	// A connection whose request is half sent when the shutdown begins gets an answer that says so.
	conn, err := net.Dial("tcp", r.addr)
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /readyz HTTP/1.1\r\n")
	must(t, err)
	// Others are those of the client.
	polltest.True(t, patience, "the door has the connection", func() bool {
		return slices.ContainsFunc(r.srv.Peers(), func(p *weft.Peer) bool { return p.Addr().String() == conn.LocalAddr().String() })
	})
	shut := make(chan error, 1)
	go func() { shut <- r.srv.Shutdown(context.Background()) }() // it ends with the drain
	polltest.True(t, patience, "the idle connection has ended", func() bool { return len(r.srv.Peers()) <= 1 })
	_, err = io.WriteString(conn, "Host: x\r\n\r\n")
	must(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != 503 || !answer.Close {
		t.Errorf("while the server shuts down: %s, close %v", answer.Status, answer.Close)
	}
	must(t, <-shut)
}

// TestProbesOfHandler has a handler that serves /healthz and /readyz beside the door.
func TestProbesOfHandler(t *testing.T) {
	sick := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusServiceUnavailable) })
	for _, c := range []struct {
		cfg    http.Config
		status int
	}{
		{http.Config{Handler: sick}, 503},
		{http.Config{Handler: sick, Ready: func() error { return nil }}, 200},
		{http.Config{}, 200},
	} {
		r := start(t, &c.cfg, nil)
		for _, path := range []string{"/healthz", "/readyz"} {
			if answer, body := r.do("GET", path, ""); answer.StatusCode != c.status {
				t.Errorf("handler %v, ready %v: %s: %s %s", c.cfg.Handler != nil, c.cfg.Ready != nil, path, answer.Status, body)
			}
		}
	}
}

// TestHijacked has a handler take the connection over, and a shutdown wait for it.
func TestHijacked(t *testing.T) {
	r := start(t, &http.Config{Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		conn, rw, err := nethttp.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
		rw.Flush()
		line, err := rw.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		rw.WriteString(line)
		rw.Flush()
	})}, nil)
	conn, err := net.Dial("tcp", r.addr)
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
	must(t, err)
	in := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		line, err = in.ReadString('\n')
		must(t, err)
	}
	shut := make(chan error, 1)
	go func() { shut <- r.srv.Shutdown(context.Background()) }() // it ends with the drain
	_, err = io.WriteString(conn, "hello\n")
	must(t, err)
	if line, err := in.ReadString('\n'); line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
	must(t, <-shut)
}

// TestSlowBody sends a part of a body and no more.
func TestSlowBody(t *testing.T) {
	r := start(t, &http.Config{BodyTimeout: 50 * time.Millisecond}, nil)
	conn, err := net.Dial("tcp", r.addr)
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /Users/Get HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	must(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != nethttp.StatusGatewayTimeout {
		t.Errorf("%s", answer.Status)
	}
}

// TestOptionsAreChecked registers methods with addresses that cannot be.
func TestOptionsAreChecked(t *testing.T) {
	srv := weft.NewServer(nil)
	for _, o := range []weft.MethodOption{
		http.Get(""), http.Get("/"), http.Get("users"), http.Get("/a//b"), http.Get("/{a"), http.Get("/{}"), http.Get("/{a}/{a}"),
		http.Get("/{a...}/b"), http.Get("/a?b"), http.Get("/{a...}:x"), http.Get("/x{a}"), http.Get("/a", http.Body("b")),
	} {
		if err := weft.Handle(srv, "A.B", waitForEnd, o); weft.CodeOf(err) != weft.InvalidArgument {
			t.Errorf("%v", err)
		}
	}
	must(t, weft.Handle(srv, "A.B", waitForEnd, http.Post("/a/{id}", http.Body("address"), nil)))
}

// TestFieldsAreChecked registers methods with fields that their requests do not have.
func TestFieldsAreChecked(t *testing.T) {
	type open map[string]int
	user := func(o ...weft.MethodOption) error { return weft.Handle(weft.NewServices(), "A.B", waitForEnd, o...) }
	raw := func(o ...weft.MethodOption) error {
		return weft.HandleRaw(weft.NewServices(), "A.B", func(_ context.Context, req, _ []byte) ([]byte, error) { return req, nil }, o...)
	}
	keys := func(o ...weft.MethodOption) error {
		return weft.Handle(weft.NewServices(), "A.B", func(_ context.Context, m *open) (*open, error) { return m, nil }, o...)
	}
	proto := func(o ...weft.MethodOption) error {
		return weft.Handle(weft.NewServices(), "A.B", func(_ context.Context, m *descriptorpb.FieldDescriptorProto) (*User, error) { return nil, nil }, o...)
	}
	for _, c := range []struct {
		register func(...weft.MethodOption) error
		option   weft.MethodOption
		missing  string // "": the option is right
	}{
		{user, http.Post("/x", http.Body("nope")), "nope"},
		{user, http.Get("/x/{nope}"), "nope"},
		{user, http.Get("/x/{id}/{nope...}"), "nope"},
		{user, http.Get("/x/{address.nope}"), "address.nope"},
		{user, http.Get("/x/{address}"), "address"}, // an object cannot be in a path
		{user, http.Put("/x/{ID}"), "ID"},
		{user, http.Put("/x/{id}/{address.city}", http.Body("tags")), ""},
		{user, http.Patch("/x", http.Body("extra")), ""},
		{raw, http.Get("/x/{id}"), "id"},
		{raw, http.Post("/x", http.Body("id")), "id"},
		{raw, http.Post("/x"), ""},
		{keys, http.Post("/x", http.Body("any")), ""},
		{keys, http.Get("/x/{any}"), "any"},
		{proto, http.Post("/x/{typeName}", http.Body("options")), ""},
		{proto, http.Post("/x", http.Body("nope")), "nope"},
	} {
		err := c.register(c.option)
		if (err == nil) != (c.missing == "") || err != nil && (weft.CodeOf(err) != weft.InvalidArgument ||
			!strings.Contains(err.Error(), "A.B") || !strings.Contains(err.Error(), strconv.Quote(c.missing))) {
			t.Errorf("want %q missing: %v", c.missing, err)
		}
	}
	services := weft.NewServices()
	if err := services.RegisterName("A", fields{}, weft.For("Get", http.Get("/x/{nope}"))); err == nil || len(services.Describe()) > 0 {
		t.Errorf("%v, %v", err, services.Describe())
	}
	must(t, services.RegisterName("A", fields{}, weft.For("Get", http.Get("/x/{id}"))))
}

type fields struct{}

func (fields) Get(_ context.Context, u *User) (*User, error) { return u, nil }

// TestOneAddressTwice has two methods with one address: the log names both.
func TestOneAddressTwice(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	r := start(t, nil, func(c *weft.ServerConfig) { c.Logger = slog.New(slog.NewTextHandler(&locked{w: &log, mu: &mu}, nil)) })
	must(t, weft.Handle(r.srv, "Double.Second", (fields{}).Get, http.Get("/twice/{id}")))
	must(t, weft.Handle(r.srv, "Double.First", (fields{}).Get, http.Get("/twice/{name}")))
	if answer, body := r.do("GET", "/twice/7", ""); answer.StatusCode != 200 || body != `{"name":"7"}` {
		t.Errorf("%s %s", answer.Status, body)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"level=ERROR", "method=Double.First", "path=/twice/{name}", "other_method=Double.Second", "other_path=/twice/{id}"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
