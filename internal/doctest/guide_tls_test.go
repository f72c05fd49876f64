package doctest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/rpc"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
	wefttls "github.com/weftrpc/weft/transport/tls"
)

// Caller is what the code of docs/guide/tls.md takes for granted.
type Caller struct{ Name string }

// TestTLSGuide runs the code of docs/guide/tls.md.
func TestTLSGuide(t *testing.T) {
	t.Chdir(t.TempDir())
	hour := time.Now().Add(time.Hour)
	ca := newAuthority(t, "ca.pem")
	ca.issue(t, "server", "orders.example", hour)
	ca.issue(t, "client", "shop.example", hour)
	check := func(err error) { t.Helper(); must(t, err) }
	ctx := t.Context()

	t.Run("server and client", func(t *testing.T) {
		source, err := wefttls.Load(wefttls.Files{Cert: "server.pem", Key: "server.key"}, nil)
		check(err)
		config, err := source.ServerConfig() // TLS 1.3, ALPN "weft/1"
		check(err)
		srv := weft.NewServer(&weft.ServerConfig{TLS: config})

		check(srv.Register(Arith{}))
		address := serve(t, srv)

		trust, err := wefttls.Load(wefttls.Files{CA: "ca.pem"}, nil) // no CA: the authorities of the system
		check(err)
		c, err := weft.Dial(ctx, address, &weft.ClientConfig{
			TLSFunc: func() *tls.Config { return trust.ClientConfig("orders.example") },
		})
		check(err)

		defer c.Close()
		check(c.Call(ctx, "Arith.Mul", &Args{6, 7}, nil))
		if p := c.Peer().TLS().NegotiatedProtocol; p != "weft/1" {
			t.Errorf("ALPN agreed on %q", p)
		}
	})
	t.Run("certificates on both sides", func(t *testing.T) {
		source, err := wefttls.Load(wefttls.Files{Cert: "server.pem", Key: "server.key", CA: "ca.pem"}, nil)
		check(err)
		config, err := source.ServerConfig()
		check(err)
		srv := weft.NewServer(&weft.ServerConfig{
			TLS: config,
			AuthenticateConn: func(_ context.Context, _ weft.Credential, peer *weft.Peer) (any, error) {
				names := wefttls.PeerIdentity(*peer.TLS()) // URIs, then DNS names, of the verified certificate
				if len(names) == 0 {
					return nil, weft.Errorf(weft.Unauthenticated, "the certificate has neither a URI nor a DNS name")
				}
				return names[0], nil
			},
		})
		check(weft.Handle(srv, "Account.WhoAmI", func(ctx context.Context, _ *Question) (*Caller, error) {
			return &Caller{Name: weft.PrincipalFrom(ctx).(string)}, nil
		}))

		own, err := wefttls.Load(wefttls.Files{Cert: "client.pem", Key: "client.key", CA: "ca.pem"}, nil)
		check(err)
		c, err := weft.Dial(ctx, serve(t, srv), &weft.ClientConfig{TLS: own.ClientConfig("")}) // by the address
		check(err)
		defer c.Close()
		if who, err := weft.Invoke[Caller](ctx, c, "Account.WhoAmI", &Question{}); err != nil || who.Name != "shop.example" {
			t.Errorf("%v, %v", who, err)
		}
	})
	files := wefttls.Files{Cert: "server.pem", Key: "server.key"}
	t.Run("logger", func(*testing.T) {
		source, err := wefttls.Load(files, &wefttls.Config{Logger: slog.Default()})
		check(err)
		_ = source
	})
	t.Run("door", func(t *testing.T) {
		source, err := wefttls.Load(files, &wefttls.Config{AllowNoALPN: true})
		check(err)
		config, err := source.ServerConfig()
		check(err)
		srv := weft.NewServer(&weft.ServerConfig{TLS: config, Doors: []weft.Door{netrpc.Door()}})

		check(srv.Register(Arith{}))
		address := serve(t, srv)
		trust, err := wefttls.Load(wefttls.Files{CA: "ca.pem"}, nil)
		check(err)
		roots := trust.ClientConfig("").RootCAs
		conn, err := tls.Dial("tcp", strings.TrimPrefix(address, "tcp://"), &tls.Config{RootCAs: roots})
		check(err)
		old := rpc.NewClient(conn)
		defer old.Close()
		var p Product
		if err := old.Call("Arith.Mul", &Args{6, 7}, &p); err != nil || p.C != 42 {
			t.Errorf("net/rpc through the door: %v, %v", p, err)
		}
		c, err := weft.Dial(ctx, strings.Replace(address, "tcp", "netrpc", 1), &weft.ClientConfig{
			TLS: &tls.Config{RootCAs: roots}, Wires: []weft.Wire{netrpc.Wire()}})
		check(err)
		defer c.Close()
		check(c.Call(ctx, "Arith.Mul", &Args{6, 7}, nil))
	})
}

// TestTLSErrors: every error of docs/guide/tls.md is one that a client gets, or that a
// server logs.
func TestTLSErrors(t *testing.T) {
	d := readDocument(t, "docs/guide/tls.md")
	t.Chdir(t.TempDir())
	hour := time.Now().Add(time.Hour)
	ca := newAuthority(t, "ca.pem")
	other := newAuthority(t, "other-ca.pem")
	ca.issue(t, "server", "orders.example", hour)
	ca.issue(t, "client", "shop.example", hour)
	ca.issue(t, "expired", "orders.example", time.Now().Add(-time.Hour))
	ca.issue(t, "by-name", "orders.example", hour, func(c *x509.Certificate) { c.IPAddresses = nil })
	ca.issue(t, "server-alone", "shop.example", hour, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	other.issue(t, "stranger", "shop.example", hour)
	var logged journal
	listen := func(files *wefttls.Files) string {
		cfg := &weft.ServerConfig{Logger: logged.logger()}
		if files != nil {
			var err error
			cfg.TLS, err = loadTLS(t, *files).ServerConfig()
			must(t, err)
		}
		return serve(t, weft.NewServer(cfg))
	}
	plain := listen(nil)
	simple := listen(&wefttls.Files{Cert: "server.pem", Key: "server.key"})
	mutual := listen(&wefttls.Files{Cert: "server.pem", Key: "server.key", CA: "ca.pem"})
	expired := listen(&wefttls.Files{Cert: "expired.pem", Key: "expired.key"})
	byName := listen(&wefttls.Files{Cert: "by-name.pem", Key: "by-name.key"})
	anonymous := loadTLS(t, wefttls.Files{CA: "ca.pem"})
	old, alien := anonymous.ClientConfig(""), anonymous.ClientConfig("")
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	alien.NextProtos = []string{"h2"}
	missing := func() *tls.Config { return nil }
	for _, tt := range []struct {
		addr        string
		cfg         *tls.Config
		f           func() *tls.Config
		code        weft.Code
		want, inLog string
	}{
		{simple, nil, nil, weft.FailedPrecondition, "this server speaks TLS alone", "tls: first record does not look like a TLS handshake"},
		{plain, anonymous.ClientConfig(""), nil, weft.Unavailable, "the peer closed the connection; it may not speak TLS",
			"the connection looks like TLS, and this listener is plaintext; set ServerConfig.TLS"},
		{simple, anonymous.ClientConfig("stock.example"), nil, weft.Unavailable,
			"x509: certificate is valid for orders.example, not stock.example", "remote error: tls: bad certificate"},
		{simple, loadTLS(t, wefttls.Files{CA: "other-ca.pem"}).ClientConfig(""), nil, weft.Unavailable,
			"x509: certificate signed by unknown authority", "remote error: tls: bad certificate"},
		{expired, anonymous.ClientConfig(""), nil, weft.Unavailable, "x509: certificate has expired or is not yet valid",
			"remote error: tls: bad certificate"},
		{mutual, anonymous.ClientConfig(""), nil, weft.Unavailable, "remote error: tls: certificate required",
			"tls: client didn't provide a certificate"},
		{mutual, loadTLS(t, wefttls.Files{Cert: "stranger.pem", Key: "stranger.key", CA: "ca.pem"}).ClientConfig(""), nil,
			weft.Unavailable, "remote error: tls: unknown certificate authority", "x509: certificate signed by unknown authority"},
		{byName, anonymous.ClientConfig(""), nil, weft.Unavailable,
			"x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs", "remote error: tls: bad certificate"},
		{mutual, loadTLS(t, wefttls.Files{Cert: "expired.pem", Key: "expired.key", CA: "ca.pem"}).ClientConfig(""), nil,
			weft.Unavailable, "remote error: tls: expired certificate", "x509: certificate has expired or is not yet valid"},
		{mutual, loadTLS(t, wefttls.Files{Cert: "server-alone.pem", Key: "server-alone.key", CA: "ca.pem"}).ClientConfig(""), nil,
			weft.Unavailable, "remote error: tls: bad certificate", "x509: certificate specifies an incompatible key usage"},
		{simple, old, nil, weft.Unavailable, "remote error: tls: protocol version not supported",
			"tls: client offered only unsupported versions"},
		{simple, alien, nil, weft.Unavailable, "remote error: tls: no application protocol",
			"tls: client requested unsupported application protocols"},
		{simple, nil, missing, weft.FailedPrecondition, "TLSFunc returned no TLS configuration", "EOF"},
	} {
		err := reach(t, tt.addr, &weft.ClientConfig{TLS: tt.cfg, TLSFunc: tt.f})
		isError(t, d, err, tt.code, weft.NotSent, tt.want)
		if e, ok := errors.AsType[*weft.Error](err); ok && tt.addr == mutual && e.Reason != weft.ReasonHandshake {
			t.Errorf("%v, want the reason %s", err, weft.ReasonHandshake)
		}
		logged.waitFor(t, tt.inLog)
		quotes(t, d, tt.inLog)
	}
	without := anonymous.ClientConfig("")
	without.NextProtos, without.VerifyConnection = nil, nil
	conn, err := tls.Dial("tcp", strings.TrimPrefix(simple, "tcp://"), without)
	must(t, err)
	defer conn.Close()
	const noALPN = `tls: the peer agreed on no protocol by ALPN, want one of ["weft/1"]`
	logged.waitFor(t, noALPN)
	quotes(t, d, noALPN)
	if _, err = conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "remote error: tls: bad certificate") {
		t.Errorf("a client without ALPN gets %v", err)
	}

	err = weft.NewServer(&weft.ServerConfig{TLS: &tls.Config{}}).Register(Arith{})
	isError(t, d, err, weft.InvalidArgument, 0, "weft: TLS is configured without a certificate: set Certificates or GetCertificate, or leave TLS nil")
	_, err = anonymous.ServerConfig()
	isQuoted(t, d, err)
	for _, f := range []wefttls.Files{
		{Cert: "server.pem"}, {Cert: "server.pem", Key: "client.key"}, {Cert: "server.pem", Key: "none.key"},
	} {
		_, err := wefttls.Load(f, nil)
		isQuoted(t, d, err)
	}
}

// TestTLSReloadMessages: what a source logs when its files change is what the guide says.
func TestTLSReloadMessages(t *testing.T) {
	d := readDocument(t, "docs/guide/tls.md")
	t.Chdir(t.TempDir())
	ca := newAuthority(t, "ca.pem")
	ca.issue(t, "server", "orders.example", time.Now().Add(time.Hour))
	var logged journal
	source, err := wefttls.Load(wefttls.Files{Cert: "server.pem", Key: "server.key"},
		&wefttls.Config{CheckEvery: time.Nanosecond, Logger: logged.logger()})
	must(t, err)
	config, err := source.ServerConfig()
	must(t, err)
	look := func(want string) {
		t.Helper()
		_, err := config.GetConfigForClient(nil)
		must(t, err)
		logged.waitFor(t, want)
		quotes(t, d, want)
	}
	must(t, os.WriteFile("server.key", []byte("half"), 0o600))
	look("certificate files not taken into use, the former ones stay")
	ca.issue(t, "server", "orders.example", time.Now().Add(2*time.Hour))
	look("certificate files taken into use")
}

func loadTLS(t *testing.T, files wefttls.Files) *wefttls.Source {
	t.Helper()
	source, err := wefttls.Load(files, nil)
	must(t, err)
	return source
}

// reach makes a client and a call, and returns the error of the one or the other: a server
// may refuse the connection after Dial has returned.
func reach(t *testing.T, address string, cfg *weft.ClientConfig) error {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := weft.Dial(t.Context(), address, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(t.Context(), "Arith.Mul", &Args{6, 7}, nil)
}
