package grpc

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
)

// plain is a door for HTTP/1.1 that answers one request of a connection.
type plain struct{}

func (plain) Name() string { return "http" }

func (plain) Protocols() []string { return []string{"http/1.1"} }

func (plain) Match(prefix []byte) (yes, more bool) {
	return strings.HasPrefix(string(prefix), "GET "), len(prefix) < 4
}

func (plain) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	if _, err := nethttp.ReadRequest(bufio.NewReader(c.Conn())); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	return err
}

// serveHTTP serves a method by doors, and returns the host and port.
func serveHTTP(t *testing.T, secure *tls.Config, doors ...weft.Door) string {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: doors, TLS: secure, Logger: slog.New(slog.DiscardHandler)})
	echo := func(_ context.Context, p *Pause) (*Pause, error) { return p, nil }
	fail := func(context.Context, *Pause) (*Pause, error) { return nil, longError() }
	mark := func(ctx context.Context, _ *Pause) (*Pause, error) {
		return nil, errors.Join(weft.SetReplyMetadata(ctx, "first", "1", "last", "2"), weft.Errorf(weft.NotFound, "none"))
	}
	if err := errors.Join(weft.Handle(srv, "Test.Pause", echo), weft.Handle(srv, "Test.Fail", fail), weft.Handle(srv, "Test.Mark", mark),
		weft.HandleServerStream(srv, "Test.Once", func(_ context.Context, p *Pause, out *weft.Sender[Pause]) error { return out.Send(p) })); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { srv.Close(); wg.Wait() })
	return l.Addr().String()
}

// ask makes a request of HTTP.
func ask(t *testing.T, c *nethttp.Client, verb, url, contentType, body string) (*nethttp.Response, string) {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), verb, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// TestStrangers asks the door by HTTP/2 for what is no call of gRPC: the answer says what it takes.
func TestStrangers(t *testing.T) {
	address := serveHTTP(t, nil, Door(nil))
	var protocols nethttp.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &nethttp.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	c := &nethttp.Client{Transport: transport}
	for range 20 { // on one connection
		for _, x := range []struct {
			verb, contentType, body string
			status                  int
		}{
			{"GET", "", "", 405}, {"HEAD", "", "", 405}, {"PUT", base, "x", 405},
			{"POST", "application/json", `{"a":1}`, 415}, {"POST", "text/plain", strings.Repeat("x", 1<<20), 415}, {"POST", "", "", 415},
		} {
			res, body := ask(t, c, x.verb, "http://"+address+"/Test/Pause", x.contentType, x.body)
			if res.StatusCode != x.status || res.ProtoMajor != 2 || (res.Header.Get("Allow") == "POST") != (x.status == 405) {
				t.Errorf("%s %s: %v", x.verb, x.contentType, res)
			}
			if says := strings.HasPrefix(body, "this is a gRPC endpoint; "); says == (x.verb == "HEAD") || len(body) > 0 != says {
				t.Errorf("%s %s: the body is %q", x.verb, x.contentType, body)
			}
		}
	}
}

// TestCompressionNotKnown sends requests that are compressed in a way that the server does not know: the answer names those that it knows.
func TestCompressionNotKnown(t *testing.T) {
	address := serveHTTP(t, nil, Door(nil))
	var protocols nethttp.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &nethttp.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	for range 2 { // on one connection
		req, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/Test/Pause", strings.NewReader("\x01\x00\x00\x00\x01x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = nethttp.Header{"Content-Type": {base}, "Grpc-Encoding": {"squeeze"}}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if status, known := res.Header.Get(statusName), res.Header.Get(acceptName); status != "12" || known != identity {
			t.Errorf("the answer has the status %q and the compressors %q, want 12 and %s", status, known, identity)
		}
	}
}

// TestLeadingOfErrors has a handler set metadata and return an error: what leads travels in a header of its own, and the rest with the status.
func TestLeadingOfErrors(t *testing.T) {
	address := serveHTTP(t, nil, Door(&Config{Leading: func(key string) bool { return key == "first" }}))
	var protocols nethttp.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &nethttp.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	res, _ := ask(t, &nethttp.Client{Transport: transport}, "POST", "http://"+address+"/Test/Mark", base, "\x00\x00\x00\x00\x00")
	for name, want := range map[string][2]string{"first": {"1", ""}, "last": {"", "2"}, statusName: {"", "5"}} {
		if got := [2]string{res.Header.Get(name), res.Trailer.Get(name)}; got != want {
			t.Errorf("%s is %q in header and trailers, want %q", name, got, want)
		}
	}
}

// TestCardinality calls methods with more or fewer messages than they take.
func TestCardinality(t *testing.T) {
	address := serveHTTP(t, nil, Door(nil))
	var protocols nethttp.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &nethttp.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	const message = "\x00\x00\x00\x00\x00"
	for body, status := range map[string]string{"": "12", message: "", message + message: "12", message[:3]: "13"} {
		for _, path := range []string{"/Test/Pause", "/Test/Once"} {
			res, _ := ask(t, &nethttp.Client{Transport: transport}, "POST", "http://"+address+path, base, body)
			if got := res.Header.Get(statusName); got != status {
				t.Errorf("%s with %d bytes: the status is %q, want %q", path, len(body), got, status)
			}
		}
	}
}

// TestOrderOfDoors lets a client offer HTTP/2 and HTTP/1.1 by TLS: the order of the doors decides.
func TestOrderOfDoors(t *testing.T) {
	stock := httptest.NewTLSServer(nil)
	certificates := &tls.Config{Certificates: stock.TLS.Certificates}
	transport := stock.Client().Transport.(*nethttp.Transport)
	stock.Close()
	trust := transport.TLSClientConfig.RootCAs
	for _, x := range []struct {
		doors  []weft.Door
		status int
		major  int
	}{
		{[]weft.Door{plain{}, Door(nil)}, 200, 1},
		{[]weft.Door{Door(nil), plain{}}, 405, 2},
	} {
		address := serveHTTP(t, certificates, x.doors...)
		transport := &nethttp.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trust}}
		res, body := ask(t, &nethttp.Client{Transport: transport}, "GET", "https://"+address+"/pause", "", "")
		transport.CloseIdleConnections()
		if res.StatusCode != x.status || res.ProtoMajor != x.major {
			t.Errorf("the first door is %s: %v, %q", x.doors[0].Name(), res, body)
		}
		c, err := weft.Dial(t.Context(), "grpc://"+address, &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)},
			TLS: &tls.Config{RootCAs: trust, ServerName: "example.com"}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Call(t.Context(), "Test.Pause", &Pause{}, nil); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}
