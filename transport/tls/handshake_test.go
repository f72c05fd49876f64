package tls_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/transport/mem"
	weft "github.com/weftrpc/weft/transport/tls"
)

// outcome is what became of an attempt to send a word over a new connection.
type outcome struct {
	client, server *tls.Conn
	clientErr      error  // of the client's handshake
	serverErr      error  // of the server's handshake
	received       string // what the server's application got to read
}

// attempt shakes hands; the client then sends "word" if it may.
func attempt(t *testing.T, client, server *tls.Config) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, s := mem.Pipe(nil)
	t.Cleanup(func() { c.Close(); s.Close() })
	o := outcome{client: tls.Client(c, client), server: tls.Server(s, server)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if o.clientErr = weft.Handshake(ctx, o.client); o.clientErr != nil {
			c.Close()
			return
		}
		io.WriteString(o.client, "word")
	}()
	if o.serverErr = weft.Handshake(ctx, o.server); o.serverErr == nil {
		b := make([]byte, 4)
		n, _ := io.ReadFull(o.server, b)
		o.received = string(b[:n])
	} else {
		s.Close()
	}
	<-done
	return o
}

func (o outcome) check(t *testing.T) {
	t.Helper()
	if o.clientErr != nil || o.serverErr != nil || o.received != "word" {
		t.Fatalf("client: %v, server: %v, received %q, want a connection that works", o.clientErr, o.serverErr, o.received)
	}
}

func TestMutualTLS(t *testing.T) {
	ca := newAuthority(t)
	server, _ := load(t, ca.issue(t, nil), ca, nil)
	client, _ := load(t, ca.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"shop.example"} }), ca, nil)
	o := attempt(t, client.ClientConfig(serverName), serverConfig(t, server))
	o.check(t)
	state := o.server.ConnectionState()
	if state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "weft/1" {
		t.Errorf("version %s, protocol %q", tls.VersionName(state.Version), state.NegotiatedProtocol)
	}
	if names := weft.PeerIdentity(state); len(names) != 1 || names[0] != "shop.example" {
		t.Errorf("the client goes by %q", names)
	}
	if names := weft.PeerIdentity(o.client.ConnectionState()); len(names) != 1 || names[0] != serverName {
		t.Errorf("the server goes by %q", names)
	}
}

// Without an authority for clients, none is asked for a certificate.
func TestServerWithoutClientAuthority(t *testing.T) {
	ca := newAuthority(t)
	server, _ := load(t, ca.issue(t, nil), nil, nil)
	client, _ := load(t, identity{}, ca, nil)
	o := attempt(t, client.ClientConfig(serverName), serverConfig(t, server))
	o.check(t)
	if names := weft.PeerIdentity(o.server.ConnectionState()); names != nil {
		t.Errorf("a client without a certificate goes by %q", names)
	}
}

func TestClientRefuses(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	good := ca.issue(t, nil)
	with := func(id identity, change func(*tls.Config)) *tls.Config {
		cfg := &tls.Config{Certificates: []tls.Certificate{id.pair(t)}, NextProtos: []string{weft.Protocol}}
		if change != nil {
			change(cfg)
		}
		return cfg
	}
	issue := func(change func(*x509.Certificate)) *tls.Config { return with(ca.issue(t, change), nil) }
	for _, test := range []struct {
		name   string
		server *tls.Config
		dialed string
		want   string // in the client's error
	}{
		{"wrong authority", with(other.issue(t, nil), nil), serverName, "unknown authority"},
		{"self-signed", with(selfSigned(t), nil), serverName, "unknown authority"},
		{"wrong name", with(good, nil), "invoices.example", "orders.example, not invoices.example"},
		{"wrong address", with(good, nil), "127.0.0.2", "not 127.0.0.2"},
		{"common name alone", issue(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, nil }), serverName, "legacy Common Name"},
		{"expired", issue(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), serverName, "expired"},
		{"not yet valid", issue(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), serverName, "not yet valid"},
		{"certificate for clients", issue(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}), serverName, "incompatible key usage"},
		{"old version", with(good, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), serverName, "protocol version"},
		{"other protocol", with(good, func(c *tls.Config) { c.NextProtos = []string{"h2"} }), serverName, "no application protocol"},
		{"no protocol", with(good, func(c *tls.Config) { c.NextProtos = nil }), serverName, `no protocol by ALPN, want one of ["weft/1"]`},
		{"no name given", with(good, nil), "", "ServerName"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, _ := load(t, identity{}, ca, nil)
			o := attempt(t, source.ClientConfig(test.dialed), test.server)
			if o.clientErr == nil || !strings.Contains(o.clientErr.Error(), test.want) {
				t.Errorf("client: %v, want an error with %q", o.clientErr, test.want)
			}
			if o.received != "" {
				t.Errorf("the server received %q", o.received)
			}
		})
	}
}

func TestServerRefuses(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	good := ca.issue(t, nil)
	with := func(id identity, change func(*tls.Config)) *tls.Config {
		cfg := &tls.Config{ServerName: serverName, RootCAs: ca.pool(), NextProtos: []string{weft.Protocol}}
		if id.cert != nil {
			pair := id.pair(t)
			// Sent whether or not the server says that it would accept it.
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		if change != nil {
			change(cfg)
		}
		return cfg
	}
	issue := func(change func(*x509.Certificate)) *tls.Config { return with(ca.issue(t, change), nil) }
	for _, test := range []struct {
		name   string
		client *tls.Config
		want   string // in the server's error
	}{
		{"no certificate", with(identity{}, nil), "didn't provide a certificate"},
		{"wrong authority", with(other.issue(t, nil), nil), "unknown authority"},
		{"self-signed", with(selfSigned(t), nil), "unknown authority"},
		{"expired", issue(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "expired"},
		{"not yet valid", issue(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "not yet valid"},
		{"certificate for servers", issue(func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), "incompatible key usage"},
		{"old version", with(good, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), "unsupported versions"},
		{"other protocol", with(good, func(c *tls.Config) { c.NextProtos = []string{"h2"} }), "unsupported application protocols"},
		{"no protocol", with(good, func(c *tls.Config) { c.NextProtos = nil }), "no protocol by ALPN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, _ := load(t, good, ca, nil)
			o := attempt(t, test.client, serverConfig(t, source))
			if o.serverErr == nil || !strings.Contains(o.serverErr.Error(), test.want) {
				t.Errorf("server: %v, want an error with %q", o.serverErr, test.want)
			}
			if o.received != "" {
				t.Errorf("the server received %q", o.received)
			}
		})
	}
}

// A client that closes at once, or one that resumes, is no way around the files: the
// server hands out no tickets.
func TestNoResumption(t *testing.T) {
	ca := newAuthority(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server, _ := load(t, ca.issue(t, nil), ca, &weft.Config{MinVersion: tls.VersionTLS12})
		client, _ := load(t, ca.issue(t, nil), ca, &weft.Config{MinVersion: tls.VersionTLS12})
		cfg := client.ClientConfig(serverName)
		cfg.MaxVersion = version
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		for range 2 {
			o := attempt(t, cfg, serverConfig(t, server))
			o.check(t)
			if state := o.client.ConnectionState(); state.DidResume || state.Version != version {
				t.Errorf("%s: resumed %v", tls.VersionName(state.Version), state.DidResume)
			}
		}
	}
}

func TestProtocols(t *testing.T) {
	ca := newAuthority(t)
	id := ca.issue(t, nil)
	server, _ := load(t, id, nil, &weft.Config{Protocols: []string{weft.Protocol, "h2"}, AllowNoALPN: true})
	for offered, want := range map[string]string{"weft/1": "weft/1", "h2": "h2", "": ""} {
		cfg := &tls.Config{ServerName: serverName, RootCAs: ca.pool()}
		if offered != "" {
			cfg.NextProtos = []string{offered}
		}
		o := attempt(t, cfg, serverConfig(t, server))
		o.check(t)
		if p := o.server.ConnectionState().NegotiatedProtocol; p != want {
			t.Errorf("client offered %q: agreed on %q", offered, p)
		}
	}
	client, _ := load(t, identity{}, ca, &weft.Config{AllowNoALPN: true})
	attempt(t, client.ClientConfig(serverName), &tls.Config{Certificates: []tls.Certificate{id.pair(t)}}).check(t)
}

func TestPlaintextClient(t *testing.T) {
	ca := newAuthority(t)
	source, _ := load(t, ca.issue(t, nil), nil, nil)
	for _, hello := range []string{"weft\x01 and more", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "{\"jsonrpc\"", "\x00\x00\x00\x00\x00"} {
		c, s := mem.Pipe(nil)
		io.WriteString(c, hello)
		server := tls.Server(s, serverConfig(t, source))
		err := weft.Handshake(t.Context(), server)
		if err == nil || !strings.Contains(err.Error(), "speaks no TLS") || !strings.Contains(err.Error(), "client") {
			t.Errorf("%q: %v, want that the peer speaks no TLS, and its address", hello, err)
		}
		// The server can still tell the client in plaintext.
		var plain tls.RecordHeaderError
		if !errors.As(err, &plain) || plain.Conn != net.Conn(s) {
			t.Errorf("%q: %v, want the bare connection in it", hello, err)
		}
		c.Close()
		s.Close()
	}
}

func TestPlaintextServer(t *testing.T) {
	ca := newAuthority(t)
	source, _ := load(t, identity{}, ca, nil)
	c, s := mem.Pipe(nil)
	defer c.Close()
	defer s.Close()
	io.WriteString(s, "weft\x01 plaintext")
	err := weft.Handshake(t.Context(), tls.Client(c, source.ClientConfig(serverName)))
	if err == nil || !strings.Contains(err.Error(), "speaks no TLS") {
		t.Errorf("%v, want that the peer speaks no TLS", err)
	}
}

func TestHandshakeEndsWithContext(t *testing.T) {
	ca := newAuthority(t)
	source, _ := load(t, ca.issue(t, nil), ca, nil)
	for side, wrap := range map[string]func(net.Conn) *tls.Conn{
		"client": func(c net.Conn) *tls.Conn { return tls.Client(c, source.ClientConfig(serverName)) },
		"server": func(c net.Conn) *tls.Conn { return tls.Server(c, serverConfig(t, source)) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c, silent := mem.Pipe(nil)
			defer silent.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			start := time.Now()
			err := weft.Handshake(ctx, wrap(c))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want its context's error", side, err)
			}
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("%s: Handshake took %v, want 3s", side, took)
			}
		})
	}
}
