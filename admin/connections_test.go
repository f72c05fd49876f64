package admin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestConnections(t *testing.T) {
	r := start(t, nil, &admin.Config{Token: "secret"})
	r.dial("", &weft.ClientConfig{Name: "billing/1.4"})
	elsewhere := admin.NewClient(r.dial(r.remote(), nil), &admin.ClientConfig{Token: "secret"})
	a := r.admin("secret")
	var all *admin.Connections
	polltest.True(t, 30*time.Second, "three connections are open", func() bool {
		// The one from elsewhere is used, so that it is one.
		if _, err := elsewhere.Stats(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var err error
		if all, err = a.Connections(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return len(all.Connections) == 3
	})
	found := 0
	for _, c := range all.Connections {
		if c.Wire != "weft" || c.Software != "weft-go/0.1" || c.Local == "" || c.TLS != nil || c.Age < 0 || c.Age > 3600 {
			t.Errorf("%+v", c)
		}
		if c.Peer == "192.0.2.1:4711" {
			found++
		}
		if c.Name == "billing/1.4" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%+v", all.Connections)
	}
	some, err := a.Connections(t.Context(), &admin.ConnectionsRequest{Limit: 1})
	if err != nil || len(some.Connections) != 1 || some.Omitted != 2 {
		t.Errorf("%+v, %v", some, err)
	}
	some, err = a.Connections(t.Context(), &admin.ConnectionsRequest{Peer: "billing"})
	if err != nil || len(some.Connections) != 1 || some.Connections[0].Name != "billing/1.4" {
		t.Errorf("%+v, %v", some, err)
	}
}

// user is a principal with a secret in it.
type user struct{ name, secret string }

// certificate is self-signed, for both sides.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "billing"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"billing.example"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "example", Path: "/billing"}},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func TestConnectionsWithTLS(t *testing.T) {
	cert, pool := certificate(t)
	// Callers are known by their certificates.
	allow := func(_ context.Context, _ weft.Credential, info *weft.CallInfo) (any, error) {
		if state := info.Peer.TLS(); state == nil || len(state.VerifiedChains) == 0 {
			return nil, weft.Errorf(weft.PermissionDenied, "show a certificate")
		}
		return user{"ann", "canary"}, nil
	}
	r := start(t, &weft.ServerConfig{
		TLS:              &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool},
		AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) { return user{"ann", "canary"}, nil },
	}, &admin.Config{Authenticate: allow})
	with := &tls.Config{RootCAs: pool, ServerName: "billing.example", Certificates: []tls.Certificate{cert}}
	a := admin.NewClient(r.dial(r.remote(), &weft.ClientConfig{TLS: with}), nil)
	all, err := a.Connections(t.Context(), nil)
	if err != nil || len(all.Connections) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	c := all.Connections[0]
	if s := c.TLS; s == nil || s.Version != "TLS 1.3" || s.Cipher == "" || s.Protocol != "weft/1" || s.Subject != "CN=billing" || s.Issuer != "CN=billing" ||
		len(s.Names) != 2 || s.Names[1] != "spiffe://example/billing" || !s.Verified || time.Until(s.Expires) <= 0 || s.ServerName != "billing.example" {
		t.Errorf("%+v", s)
	}
	if c.Principal != "a admin_test.user" {
		t.Errorf("%q", c.Principal)
	}
	without := &tls.Config{RootCAs: pool, ServerName: "billing.example"}
	_, err = admin.NewClient(r.dial("", &weft.ClientConfig{TLS: without}), nil).Connections(t.Context(), nil)
	isError(t, err, weft.PermissionDenied)
}

func TestCalls(t *testing.T) {
	r := start(t, nil, nil)
	c, a := r.dial("", &weft.ClientConfig{Name: "billing"}), r.admin("")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const limit = 10 * time.Minute // they run until the test has seen them
	first := c.Go(ctx, "Arith.Sleep", &Args{A: 3_600_000}, nil, nil, weft.WithTimeout(limit))
	var calls *admin.Calls
	wait := func(n int, req *admin.CallsRequest) {
		t.Helper()
		polltest.True(t, 30*time.Second, "the calls are listed", func() bool {
			var err error
			if calls, err = a.Calls(ctx, req); err != nil {
				t.Fatal(err)
			}
			return len(calls.Calls)+calls.Omitted == n
		})
	}
	wait(1, &admin.CallsRequest{Method: "Arith.*"})
	second := c.Go(weft.WithMetadata(ctx, "n", "2"), "Arith.Sleep", &Args{A: 3_600_000}, nil, nil, weft.WithTimeout(limit))
	wait(2, &admin.CallsRequest{Method: "Arith.Sleep", Peer: "billing"})
	x := calls.Calls[0]
	if x.Method != "Arith.Sleep" || x.Name != "billing" || x.Wire != "weft" || x.Peer == "" || x.Age < calls.Calls[1].Age || x.Left == nil || *x.Left > limit.Seconds() || *x.Left < 0 {
		t.Errorf("%+v", x)
	}
	wait(2, &admin.CallsRequest{Method: "Arith.Sleep", Limit: 1})
	if len(calls.Calls) != 1 || calls.Omitted != 1 {
		t.Errorf("%+v", calls)
	}
	wait(0, &admin.CallsRequest{Method: "Arith.Sleep", Peer: "nowhere"})
	wait(0, &admin.CallsRequest{Method: "Arith.Sleep", Older: 3600})
	cancel()
	<-first.Done
	<-second.Done
}
