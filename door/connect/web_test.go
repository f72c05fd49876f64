package connect_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
)

// web is a server with the doors, and clients of both versions of HTTP.
type web struct {
	t       *testing.T
	url     string
	clients map[string]*nethttp.Client
}

func startWeb(t *testing.T, cfg *connect.Config) *web {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(cfg), Logger: slog.New(slog.DiscardHandler)})
	must(t, errors.Join(
		weft.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, n *Name) (*Greeting, error) {
			return &Greeting{"Hello, " + n.Text}, nil
		}, weft.Idempotent(), http.Get("/hello/{text}")),
		weft.Handle(srv, "greeter.Greeter.Change", func(_ context.Context, n *Name) (*Greeting, error) { return &Greeting{n.Text}, nil }),
		weft.Handle(srv, "greeter.Greeter.Passed", func(ctx context.Context, _ *Name) (*Greeting, error) {
			m := weft.MetadataFrom(ctx)
			return &Greeting{m.Get("x-forwarded-for") + m.Get("forwarded") + m.Get("via")}, nil
		}),
	))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	w := &web{t: t, url: "http://" + l.Addr().String(), clients: make(map[string]*nethttp.Client)}
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		transport := &nethttp.Transport{Protocols: new(nethttp.Protocols)}
		transport.Protocols.SetHTTP1(!http2)
		transport.Protocols.SetUnencryptedHTTP2(http2)
		w.clients[name] = &nethttp.Client{Transport: transport}
	}
	t.Cleanup(func() {
		for _, c := range w.clients {
			c.CloseIdleConnections()
		}
		srv.Close()
		<-served
	})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each makes a request over both versions of HTTP and gives the answer to check.
func (w *web) each(verb, path, body string, check func(t *testing.T, res *nethttp.Response, body string), header ...string) {
	w.t.Helper()
	for name, c := range w.clients {
		w.t.Run(name, func(t *testing.T) {
			r, err := nethttp.NewRequest(verb, w.url+path, strings.NewReader(body))
			must(t, err)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			res, err := c.Do(r)
			must(t, err)
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			must(t, err)
			check(t, res, string(b))
		})
	}
}

func status(want int, has string) func(*testing.T, *nethttp.Response, string) {
	return func(t *testing.T, res *nethttp.Response, body string) {
		t.Helper()
		if res.StatusCode != want || !strings.Contains(body, has) {
			t.Errorf("status %d, body %q, header %v; want %d and %q", res.StatusCode, body, res.Header, want, has)
		}
	}
}

const hello = "/greeter.Greeter/Hello"

func TestGet(t *testing.T) {
	w := startWeb(t, nil)
	w.each("GET", hello+`?connect=v1&encoding=json&message=%7B%22text%22:%22Ada%22%7D`, "", status(200, "Hello, Ada"))
	message := base64.RawURLEncoding.EncodeToString([]byte("\x0a\x03Ada"))
	w.each("GET", hello+"?connect=v1&base64=1&encoding=proto&message="+message, "", status(200, "Hello, Ada"))
	w.each("GET", hello+"?connect=v2&encoding=json&message={}", "", status(400, "invalid_argument"))
	w.each("GET", hello+"?connect=v1&encoding=json", "", status(400, "no parameter message"))
	w.each("GET", hello+"?connect=v1&encoding=json&message={}&compression=br", "", status(501, "unimplemented"))
	w.each("GET", "/greeter.Greeter/Change?connect=v1&encoding=json&message={}", "", func(t *testing.T, res *nethttp.Response, body string) {
		status(405, "POST")(t, res, body)
		if res.Header.Get("Allow") != "POST" {
			t.Errorf("header %v", res.Header)
		}
	})
}

func TestOrigins(t *testing.T) {
	const app, evil = "https://app.example.com", "https://evil.example.org"
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,connect-protocol-version"}
	post := []string{"Content-Type", "application/json", "Connect-Protocol-Version", "1", "Sec-Fetch-Site", "cross-site"}
	closed := startWeb(t, nil)
	closed.each("OPTIONS", hello, "", func(t *testing.T, res *nethttp.Response, _ string) {
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("header %v", res.Header)
		}
	}, append(ask, "Origin", app)...)
	closed.each("POST", hello, `{}`, status(403, "permission_denied"), append(post, "Origin", app)...)
	const get = hello + "?connect=v1&encoding=json&message={}"
	closed.each("GET", get, "", status(403, "permission_denied"), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors") // an image
	closed.each("GET", get, "", status(200, "Hello"), "Sec-Fetch-Site", "same-origin")
	closed.each("GET", get, "", status(200, "Hello"), "Sec-Fetch-Site", "none") // its address was typed

	open := startWeb(t, &connect.Config{Origins: []string{app}})
	open.each("OPTIONS", hello, "", func(t *testing.T, res *nethttp.Response, _ string) {
		h := res.Header
		if res.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != app || h.Get("Access-Control-Allow-Methods") != "POST, GET" ||
			h.Get("Access-Control-Allow-Headers") == "" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("status %d, header %v", res.StatusCode, h)
		}
	}, append(ask, "Origin", app)...)
	open.each("OPTIONS", hello, "", func(t *testing.T, res *nethttp.Response, _ string) {
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("header %v", res.Header)
		}
	}, append(ask, "Origin", evil)...)
	open.each("POST", hello, `{"text":"Ada"}`, func(t *testing.T, res *nethttp.Response, body string) {
		status(200, "Hello, Ada")(t, res, body)
		if res.Header.Get("Access-Control-Allow-Origin") != app || res.Header.Get("Access-Control-Expose-Headers") == "" {
			t.Errorf("header %v", res.Header)
		}
	}, append(post, "Origin", app)...)
	open.each("POST", hello, `{}`, status(403, "permission_denied"), append(post, "Origin", evil)...)
}

// TestText makes a call of gRPC-Web in text, whose body is padded within.
func TestText(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	request := encode([]byte("\x00\x00\x00\x00")) + encode([]byte("\x05\x0a\x03Ada"))
	startWeb(t, nil).each("POST", hello, request, func(t *testing.T, res *nethttp.Response, body string) {
		b, err := base64.StdEncoding.DecodeString(body)
		must(t, err)
		if res.Header.Get("Content-Type") != "application/grpc-web-text" || !strings.Contains(string(b), "Hello, Ada\x80") || !strings.Contains(string(b), "grpc-status: 0\r\n") {
			t.Errorf("header %v, body %q", res.Header, b)
		}
	}, "Content-Type", "application/grpc-web-text")
}

// TestProxyHeaders: what a proxy says of a request that it passes on is metadata, by which package admin knows it.
func TestProxyHeaders(t *testing.T) {
	startWeb(t, nil).each("POST", "/greeter.Greeter/Passed", "{}", status(200, "abc"), "Content-Type", "application/json", "X-Forwarded-For", "a", "Forwarded", "b", "Via", "c")
}

// TestRefusals makes requests that are no calls.
func TestRefusals(t *testing.T) {
	w := startWeb(t, nil)
	w.each("POST", hello, "a=b", status(415, "Content-Type"), "Content-Type", "application/x-www-form-urlencoded")
	w.each("POST", hello, "{}", status(415, "Content-Type"), "Content-Type", "application/connect+json")
	w.each("PUT", hello, "{}", status(405, "POST or GET"), "Content-Type", "application/json")
	w.each("GET", "/", "", status(404, "nothing here"))
	w.each("POST", "/greeter.Greeter/Missing", "{}", status(404, `"code":"unimplemented"`), "Content-Type", "application/json")
	w.each("POST", hello, "{}", status(400, "Connect-Timeout-Ms"), "Content-Type", "application/json", "Connect-Timeout-Ms", "12345678901")
	w.each("POST", hello, "{}", status(400, "no base64"), "Content-Type", "application/json", "Key-Bin", "%")
	strict := startWeb(t, &connect.Config{RequireVersion: true, StrictFields: true, Prefix: "api"})
	strict.each("POST", "/api"+hello, "{}", status(400, "Connect-Protocol-Version"), "Content-Type", "application/json")
	strict.each("POST", "/api"+hello, `{"tex":""}`, status(400, "tex"), "Content-Type", "application/json", "Connect-Protocol-Version", "1")
	strict.each("POST", hello, "{}", status(404, "/api/"), "Content-Type", "application/json")
}

// TestHTTP serves routes, probes and plain JSON beside Connect, over both versions of HTTP.
func TestHTTP(t *testing.T) {
	w := startWeb(t, &connect.Config{HTTP: &http.Config{}})
	w.each("GET", "/hello/Ada", "", status(200, "Hello, Ada"))
	w.each("GET", "/healthz", "", status(200, "ok"))
	w.each("POST", hello, `{"text":1}`, status(400, `"title":"InvalidArgument"`), "Content-Type", "application/json")
	w.each("POST", hello, `{"text":1}`, status(400, `"code":"invalid_argument"`), "Content-Type", "application/json", "Connect-Protocol-Version", "1")
	w.each("POST", hello, `{"text":"Ada"}`, status(200, "Hello, Ada"), "Content-Type", "application/json")
}
