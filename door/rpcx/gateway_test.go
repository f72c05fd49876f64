package rpcx_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/rpcx"
)

// startGateway starts a server with the gateway and returns its URL.
func startGateway(t *testing.T, cfg weft.ServerConfig) string {
	t.Helper()
	next := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = io.WriteString(w, "a page") })
	cfg.Doors = []weft.Door{http.Door(&http.Config{Handler: rpcx.Handler(nil, next)})}
	cfg.Logger = slog.New(slog.DiscardHandler)
	srv := weft.NewServer(&cfg)
	must(t, errors.Join(arith(srv), weft.Handle(srv, "Meta.See", func(ctx context.Context, b *[]byte) (*[]byte, error) {
		text := []byte(weft.MetadataFrom(ctx).Get("tenant") + " " + weft.MetadataFrom(ctx).Get("authorization") + " " + string(*b))
		return &text, weft.SetReplyMetadata(ctx, "answer", "a&b")
	})))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return "http://" + l.Addr().String()
}

// ask makes a request with headers, name and value in turn.
func ask(t *testing.T, verb, url, body string, headers ...string) (*nethttp.Response, string) {
	t.Helper()
	r, err := nethttp.NewRequestWithContext(t.Context(), verb, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	transport := &nethttp.Transport{DisableKeepAlives: true, DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := (&nethttp.Client{Transport: transport}).Do(r)
	must(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer, string(b)
}

// TestGateway calls as a client of rpcx's HTTP gateway does.
func TestGateway(t *testing.T) {
	base := startGateway(t, weft.ServerConfig{})
	mul := []string{"X-RPCX-Version", "1", "X-RPCX-MessageID", "4711", "X-RPCX-SerializeType", "1", "X-RPCX-ServicePath", "Arith", "X-RPCX-ServiceMethod", "Mul", "X-RPCX-MesssageType", "0"}
	for _, verb := range []string{"POST", "PUT", "GET"} {
		a, body := ask(t, verb, base+"/", `{"A":7,"B":8}`, mul...)
		if a.StatusCode != 200 || body != `{"C":56}` || a.Header.Get("X-RPCX-MessageID") != "4711" || a.Header.Get("X-RPCX-ServicePath") != "Arith" ||
			a.Header.Get("X-RPCX-ServiceMethod") != "Mul" || a.Header.Get("X-RPCX-SerializeType") != "1" || a.Header.Get("X-RPCX-Version") != "1" || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %q %v", verb, a.StatusCode, body, a.Header)
		}
	}
	a, body := ask(t, "POST", base+"/Arith", `{"A":7,"B":8}`, "X-RPCX-SerializeType", "1", "X-RPCX-ServiceMethod", "Mul")
	if a.StatusCode != 200 || body != `{"C":56}` {
		t.Errorf("the path of the URL: %d %q", a.StatusCode, body)
	}
	packed, err := gzip.New().Compress(nil, []byte("zipped"))
	must(t, err)
	for _, how := range []string{"X-RPCX-CompressType", "Content-Encoding"} {
		value := map[string]string{"X-RPCX-CompressType": "1", "Content-Encoding": "gzip"}[how]
		a, body = ask(t, "POST", base, string(packed), "X-RPCX-SerializeType", "0", "X-RPCX-ServicePath", "Meta", "X-RPCX-ServiceMethod", "See",
			"X-RPCX-Meta", "tenant=a%00b&weft-x=1&__AUTH=other", "Authorization", "Bearer me", how, value)
		if a.StatusCode != 200 || body != "a\x00b Bearer me zipped" || a.Header.Get("X-RPCX-Meta") != "answer=a%26b" {
			t.Errorf("%s: %d %q %v", how, a.StatusCode, body, a.Header)
		}
	}
	if a, body = ask(t, "POST", base, "", append(mul, "X-RPCX-Oneway", "true")...); a.StatusCode != 200 || body != "" {
		t.Errorf("one-way: %d %q", a.StatusCode, body)
	}
	if a, body = ask(t, "POST", base, "", "X-RPCX-Heartbeat", "true", "X-RPCX-MessageID", "1"); a.StatusCode != 200 || body != "" || a.Header.Get("X-RPCX-MessageID") != "1" {
		t.Errorf("heartbeat: %d %q", a.StatusCode, body)
	}
	if a, body = ask(t, "GET", base+"/page", ""); a.StatusCode != 200 || body != "a page" {
		t.Errorf("another request: %d %q", a.StatusCode, body)
	}
}

// TestGatewayErrors makes calls that fail, and requests that are wrong.
func TestGatewayErrors(t *testing.T) {
	base := startGateway(t, weft.ServerConfig{Limits: weft.Limits{MaxMessage: 10_000}, Authenticate: func(_ context.Context, c weft.Credential, _ *weft.CallInfo) (any, error) {
		if c.Token == "wrong" {
			return nil, weft.Errorf(weft.Unauthenticated, "a wrong\r\ntoken")
		}
		return nil, nil
	}})
	bomb, err := gzip.New().Compress(nil, make([]byte, 1<<20))
	must(t, err)
	for _, test := range []struct {
		verb, body string
		headers    string
		status     int
		text       string
	}{
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Div", 400, "divide by zero"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Sub", 404, "there is no method Arith.Sub"},
		{"POST", "{}", "SerializeType=9 ServicePath=Arith ServiceMethod=Mul", 415, "can not find codec for 9"},
		{"POST", "{}", "SerializeType=16 ServicePath=Arith ServiceMethod=Mul", 400, "SerializeType"},
		{"POST", "{}", "ServicePath=Arith ServiceMethod=Mul", 400, "SerializeType"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith", 400, "ServiceMethod"},
		{"POST", "{}", "SerializeType=1 ServiceMethod=Mul", 400, "ServicePath"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul MessageID=x", 400, "MessageID"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul CompressType=2", 400, "CompressType"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul CompressType=1", 400, "decompress"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul Meta=%zz", 400, "Meta"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul Meta=a=" + strings.Repeat("x", 17<<10), 431, "metadata has"},
		{"POST", string(bomb), "SerializeType=1 ServicePath=Arith ServiceMethod=Mul CompressType=1", 413, "decompressed"},
		{"POST", strings.Repeat("x", 20_000), "SerializeType=1 ServicePath=Arith ServiceMethod=Mul", 413, "10000 bytes"},
		{"POST", "no JSON", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul", 400, "decode"},
		{"DELETE", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul", 400, "POST, GET and PUT"},
		{"POST", "{}", "SerializeType=1 ServicePath=Arith ServiceMethod=Mul Meta=__AUTH=wrong", 401, "a wrong  token"},
	} {
		var headers []string
		for _, pair := range strings.Fields(test.headers) {
			name, value, _ := strings.Cut(pair, "=")
			headers = append(headers, "X-RPCX-"+name, value)
		}
		a, body := ask(t, test.verb, base, test.body, headers...)
		if a.StatusCode != test.status || a.Header.Get("X-RPCX-MessageStatusType") != "Error" || !strings.Contains(a.Header.Get("X-RPCX-ErrorMessage"), test.text) || !bytes.Contains([]byte(body), []byte(`"code"`)) {
			t.Errorf("%s %.100s: %d %.100v %q", test.verb, test.headers, a.StatusCode, a.Header, body)
		}
	}
}

// TestGatewayBeforeBody: a caller that is not authenticated, and a call for which there is no memory, are refused before the
// body of the request has come, which they would hold.
func TestGatewayBeforeBody(t *testing.T) {
	base := startGateway(t, weft.ServerConfig{Limits: weft.Limits{MaxCallBytes: 1 << 20}, Authenticate: func(_ context.Context, c weft.Credential, _ *weft.CallInfo) (any, error) {
		if c.Token != "right" {
			return nil, weft.Errorf(weft.Unauthenticated, "a wrong token")
		}
		return nil, nil
	}})
	for _, test := range []struct{ token, length, status, text string }{
		// Of less than 256 KiB net/http reads what its handler leaves.
		{"wrong", "1000000", "401", "a wrong token"},
		{"right", "2000000", "429", "too many bytes"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-RPCX-SerializeType: 1\r\nX-RPCX-ServicePath: Arith\r\nX-RPCX-ServiceMethod: Mul\r\nAuthorization: Bearer "+
			test.token+"\r\nContent-Length: "+test.length+"\r\n\r\n")
		must(t, err)
		a, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s, %s: %v", test.token, test.length, err)
		} else if !strings.HasPrefix(a.Status, test.status) || !strings.Contains(a.Header.Get("X-RPCX-ErrorMessage"), test.text) {
			t.Errorf("%s, %s: %s %v", test.token, test.length, a.Status, a.Header)
		}
		conn.Close()
	}
}
