package admin_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/codec"
	weftjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/protobuf/descriptors"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// post makes a call over HTTP.
func post(t *testing.T, url, body string, header ...string) (status int, answer string) {
	t.Helper()
	return postWith(t, nil, url, body, header...)
}

// postWith is post over TLS, unless secure is nil.
func postWith(t *testing.T, secure *tls.Config, url, body string, header ...string) (status int, answer string) {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	transport := &nethttp.Transport{DisableKeepAlives: true, TLSClientConfig: secure}
	defer transport.CloseIdleConnections()
	resp, err := (&nethttp.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestHTTP(t *testing.T) {
	r := start(t, nil, &admin.Config{Token: "secret"})
	url := "http://" + r.addr + "/weft.Admin/"
	for _, key := range []string{"Authorization", "Weft-Meta-Admin-Authorization"} {
		status, body := post(t, url+"Describe", `{"name":"Arith.Mul"}`, key, "Bearer secret")
		var d admin.Description
		if err := json.Unmarshal([]byte(body), &d); err != nil || status != 200 || len(d.Services) != 1 || d.Services[0].Methods[0].Kind != "unary" {
			t.Fatalf("%d %s", status, body)
		}
	}
	if status, body := post(t, url+"Stats", `{}`, "Authorization", "Bearer secret"); status != 200 || !strings.Contains(body, `"uptime_seconds"`) {
		t.Errorf("%d %s", status, body)
	}
	status, body := post(t, url+"Watch", `{"interval_seconds":0.1,"count":2}`, "Authorization", "Bearer secret")
	if lines := strings.Split(strings.TrimSpace(body), "\n"); status != 200 || len(lines) < 2 || !strings.Contains(lines[1], `"uptime_seconds"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, url+"Stats", `{}`); status != 401 || !strings.Contains(body, "token") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, url+"Stats", `{}`, "Authorization", "Bearer guess"); status != 401 {
		t.Errorf("%d %s", status, body)
	}
	// Without a credential a page in a browser could call.
	open := start(t, nil, nil)
	if status, body := post(t, "http://"+open.addr+"/weft.Admin/Stats", `{}`); status != 403 || !strings.Contains(body, "browser") {
		t.Errorf("%d %s", status, body)
	}
}

// A proxy on the machine that passes requests on over HTTPS is not the caller, also where the caller sends a header of its own first.
func TestProxyOverHTTPS(t *testing.T) {
	cert, pool := certificate(t)
	r := start(t, &weft.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, nil)
	secure := &tls.Config{RootCAs: pool, ServerName: "billing.example"}
	url := "https://" + r.addr + "/weft.Admin/Stats"
	if status, body := postWith(t, secure, url, `{}`); status != 200 {
		t.Errorf("without a proxy: %d %s", status, body)
	}
	for _, header := range [][]string{
		{"X-Forwarded-For", "192.0.2.1"}, {"Forwarded", "for=192.0.2.1"}, {"Via", "1.1 proxy"},
		{"X-Forwarded-For", "", "X-Forwarded-For", "192.0.2.1"}, {"Weft-Meta-Via", "", "Via", "1.1 proxy"},
	} {
		if status, body := postWith(t, secure, url, `{}`, header...); status != 403 || !strings.Contains(body, "a proxy has passed this call on") {
			t.Errorf("%q: %d %s", header, status, body)
		}
	}
}

func TestJSONRPC(t *testing.T) {
	r := start(t, nil, nil)
	c, err := weft.Dial(t.Context(), "jsonrpc://"+r.addr, &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.Wire()}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := admin.NewClient(c, nil)
	if d, err := a.Describe(t.Context(), &admin.DescribeRequest{Name: "Arith"}); err != nil || len(d.Services) != 1 || len(d.Services[0].Methods) != 4 {
		t.Errorf("%+v, %v", d, err)
	}
	conns, err := a.Connections(t.Context(), nil)
	if err != nil || len(conns.Connections) != 1 || conns.Connections[0].Wire != weft.WireJSONRPC {
		t.Errorf("%+v, %v", conns, err)
	}
}

// Every codec carries the messages whole.
func TestCodecs(t *testing.T) {
	r := start(t, nil, &admin.Config{Token: "secret", Bodies: true})
	for _, c := range []codec.Codec{protobuf.New(), msgpack.New(), weftjson.New()} {
		t.Run(c.Name(), func(t *testing.T) {
			ctx := t.Context()
			client := r.dial("", &weft.ClientConfig{Codec: c, Name: c.Name()})
			a := admin.NewClient(client, &admin.ClientConfig{Token: "secret"})
			d, err := a.Describe(ctx, &admin.DescribeRequest{Name: "weft.Admin"})
			if err != nil || len(d.Services) != 1 || len(d.Services[0].Methods) != 13 || d.Services[0].Methods[0].RequestSchema == "" {
				t.Errorf("%+v, %v", d, err)
			}
			st, err := a.Stats(ctx, &admin.StatsRequest{Buckets: true})
			if err != nil || st.At.Year() < 2000 || st.Process.Goroutines == 0 {
				t.Errorf("%+v, %v", st, err)
			}
			conns, err := a.Connections(ctx, &admin.ConnectionsRequest{Peer: c.Name()})
			if err != nil || len(conns.Connections) != 1 || conns.Connections[0].Name != c.Name() {
				t.Errorf("%+v, %v", conns, err)
			}
			if set, err := a.Config(ctx, nil); err != nil || len(set.Settings) < 30 {
				t.Errorf("%+v, %v", set, err)
			}
			if l, err := a.Limits(ctx, nil); err != nil || !l.Overload.On {
				t.Errorf("%+v, %v", l, err)
			}
			tap, err := a.Tap(ctx, &admin.TapRequest{Methods: []string{"weft.Admin.Calls"}, Count: 1})
			if err != nil {
				t.Fatal(err)
			}
			if calls, err := a.Calls(ctx, nil); err != nil || len(calls.Calls) == 0 {
				t.Errorf("%+v, %v", calls, err)
			}
			if x := next(t, tap); x.Codec != c.Name() || x.Left == nil || x.Method != "weft.Admin.Calls" {
				t.Errorf("%+v", x)
			}
		})
	}
}

// All messages have descriptors of Protocol Buffers, which the reflection of gRPC gives.
func TestDescriptors(t *testing.T) {
	set := descriptors.NewSet()
	for _, s := range start(t, nil, nil).srv.Describe() {
		if s.Name != admin.Service {
			continue
		}
		for _, m := range s.Methods {
			for _, message := range []reflect.Type{m.Request, m.Reply} {
				if _, err := set.Add(message, m.Name); err != nil {
					t.Errorf("%s: %v", m.Name, err)
				}
			}
		}
	}
}

// Over a Unix socket, whose file has permissions, calls that change the server need no credential.
func TestUnixSocket(t *testing.T) {
	r := start(t, nil, &admin.Config{Shutdown: func() {}, Logger: quiet()})
	folder, err := os.MkdirTemp("", "weft") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	path := filepath.Join(folder, "s")
	l, err := r.srv.Listen(context.Background(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	r.serve(l)
	a := admin.NewClient(r.dial("unix://"+path, nil), nil)
	if d, err := a.Drain(t.Context(), &admin.DrainRequest{Shutdown: true}); err != nil || d.Phase != "shutting down" {
		t.Errorf("%+v, %v", d, err)
	}
}
