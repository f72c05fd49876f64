package thrift_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft"
	doorhttp "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
)

// overHTTP starts a server whose door for HTTP has the handler at /thrift.
func overHTTP(t *testing.T, cfg *weft.ServerConfig, register func(srv *weft.Server) error) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/thrift", thrift.Handler(nil))
	c := weft.ServerConfig{}
	if cfg != nil {
		c = *cfg
	}
	c.Doors = []weft.Door{thrift.Door(nil), doorhttp.Door(&doorhttp.Config{Handler: mux})}
	return "http://" + start(t, &c, register) + "/thrift"
}

// TestHTTPStock calls by the client of the stock library, in its protocols.
func TestHTTPStock(t *testing.T) {
	told := make(chan string, 1)
	throws := thrift.Exceptions{"Demo.Get": {{ID: 1, Name: "nf", Value: (*Missing)(nil)}}}
	url := overHTTP(t, &weft.ServerConfig{Plugins: []weft.Plugin{throws.Plugin()}}, plainHandlers(told))
	for name, make := range map[string]func(t apache.TTransport) apache.TProtocol{
		"binary":  func(t apache.TTransport) apache.TProtocol { return apache.NewTBinaryProtocolConf(t, config(true, 0)) },
		"old":     func(t apache.TTransport) apache.TProtocol { return apache.NewTBinaryProtocolConf(t, config(false, 0)) },
		"compact": func(t apache.TTransport) apache.TProtocol { return apache.NewTCompactProtocolConf(t, config(true, 0)) },
		"JSON":    func(t apache.TTransport) apache.TProtocol { return apache.NewTJSONProtocol(t) },
		"framed": func(t apache.TTransport) apache.TProtocol {
			return apache.NewTBinaryProtocolConf(apache.NewTFramedTransportConf(t, config(true, 0)), config(true, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client, err := apache.NewTHttpClientWithOptions(url, apache.THttpClientOptions{Client: &http.Client{Transport: transport, Timeout: patience}})
			must(t, err)
			must(t, client.Open())
			defer client.Close()
			proto := make(client)
			exercise(t, stock.NewDemoClient(apache.NewTStandardClient(proto, apache.NewTMultiplexedProtocol(proto, "Demo"))), told)
		})
	}
}

// post sends a body and returns the status and the body of the answer.
func post(t *testing.T, method, url, kind string, body []byte, header ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	must(t, err)
	r.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(b)
}

func TestHTTPErrors(t *testing.T) {
	waits, canceled := make(chan struct{}), make(chan error, 1)
	url := overHTTP(t, &weft.ServerConfig{Timeout: -1, Limits: weft.Limits{MaxMessage: 16 << 10}}, func(srv *weft.Server) error {
		return errors.Join(
			weft.Handle(srv, "Demo.Color", func(ctx context.Context, _ *struct{}) (*string, error) {
				text := weft.MetadataFrom(ctx).Get("authorization")
				return &text, nil
			}),
			weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil }),
			weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *struct{}) (*struct{}, error) {
				close(waits)
				<-ctx.Done()
				canceled <- ctx.Err()
				return nil, ctx.Err()
			}))
	})
	const kind = "application/x-thrift"
	call := []byte("\x82\x21\x01\x05Color\x00")
	for _, c := range []struct {
		method, kind string
		body         []byte
		status       int
		want         string
	}{
		{"POST", kind, call, 200, "Bearer secret"},
		{"POST", "application/vnd.apache.thrift.compact; charset=utf-8", call, 200, "Bearer secret"},
		{"POST", kind, []byte("\x82\x21\x01\x04None\x00"), 200, "there is no method"},
		{"POST", kind, []byte("\x82\x81\x01\x05Color\x00"), 200, ""},
		{"GET", kind, nil, 405, "Thrift is called by POST"},
		{"POST", "text/plain", call, 415, "Thrift has the Content-Type application/x-thrift"},
		{"POST", "", call, 415, "Thrift has the Content-Type"},
		{"POST", kind, nil, 400, "expected a message in the binary, compact or JSON protocol"},
		{"POST", kind, []byte("garbage"), 400, "expected a message"},
		{"POST", kind, append(call, call...), 200, "stand behind the message"},
		{"POST", kind, []byte("\x82\x21\x01\x05Col"), 400, "the message ends within a value"},
		{"POST", kind, []byte("\x00\x00\x00\x09\x82\x21\x01\x05Color"), 200, "the message ends within a value"},
		{"POST", kind, []byte("\x00\x00\x00\x08\x82\x21\x01\x05Color\x00"), 400, "expected one message"},
		{"POST", kind, []byte("\x00\x00\x00\x0e\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"), 400, "expected a message"},
		{"POST", kind, append([]byte("\x80\x01\x00\x01\x00\x00\x00\x04Echo\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x48\x00"), make([]byte, 18<<10+1)...), 200, "Limits.MaxMessage of the server allows 16384"},
		{"POST", kind, make([]byte, 1<<20), 413, "the request has more than"},
	} {
		status, answer := post(t, c.method, url, c.kind, c.body, "Authorization", "Bearer secret")
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s of %.40q as %q: %d %q, want %d with %q", c.method, c.body, c.kind, status, answer, c.status, c.want)
		}
	}
	// A client that goes cancels its call.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader("\x82\x21\x01\x04Wait\x00"))
	must(t, err)
	r.Header.Set("Content-Type", kind)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	gone := make(chan struct{})
	go func() { // it ends when the handler runs, or with the test
		defer close(gone)
		select {
		case <-waits:
		case <-time.After(patience):
			t.Error("the call does not run")
		}
		cancel()
	}()
	if res, err := (&http.Client{Transport: transport}).Do(r); err == nil {
		res.Body.Close()
		t.Error("a call that waits was answered")
	}
	<-gone
	select {
	case err := <-canceled:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the call goes on without its client")
	}
}
