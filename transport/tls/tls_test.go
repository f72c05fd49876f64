package tls_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
	weft "github.com/weftrpc/weft/transport/tls"
	"github.com/weftrpc/weft/transport/transporttest"
)

func TestConformance(t *testing.T) {
	ca := newAuthority(t)
	source, _ := load(t, ca.issue(t, nil), ca, nil)
	for _, test := range []struct {
		name string
		open func(*testing.T) (transport.Transport, string)
	}{
		{"tcp, name from the address", func(*testing.T) (transport.Transport, string) {
			return weft.Wrap(tcp.New(nil), source, ""), "127.0.0.1:0"
		}},
		{"mem, name given", func(*testing.T) (transport.Transport, string) {
			return weft.Wrap(mem.New(), source, serverName), ""
		}},
	} {
		t.Run(test.name, func(t *testing.T) { transporttest.Run(t, test.open) })
	}
}

func TestWrap(t *testing.T) {
	ca := newAuthority(t)
	server, _ := load(t, ca.issue(t, nil), nil, nil)
	stranger, _ := load(t, identity{}, newAuthority(t), nil)
	network := mem.New()
	if s := weft.Wrap(network, server, "").Scheme(); s != "mem+tls" {
		t.Errorf("Scheme() = %q", s)
	}
	if _, err := weft.Wrap(network, stranger, "").Listen(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "needs a certificate") {
		t.Errorf("Listen without a certificate: %v", err)
	}
	l, err := weft.Wrap(network, server, "").Listen(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := weft.Wrap(network, server, "").Dial(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), `"orders" has no host name`) {
		t.Errorf("Dial without a name to verify: %v", err)
	}

	// A refused handshake leaves no connection behind.
	accepted := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
			_, err = io.ReadAll(c)
		}
		accepted <- err
	}()
	if _, err := weft.Wrap(network, stranger, serverName).Dial(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "handshake with orders") {
		t.Errorf("Dial to a server of another authority: %v", err)
	}
	if err := <-accepted; err == nil || !strings.Contains(err.Error(), "bad certificate") {
		t.Errorf("the server read to the end with %v, want the client's alert", err)
	}
}

func TestLoadErrors(t *testing.T) {
	ca := newAuthority(t)
	id, other := ca.issue(t, nil), ca.issue(t, nil)
	dir := newDirectory(t)
	good := dir.files(t, id, ca)
	otherKey := dir.write(t, "other.key", other.key)
	missing := string(dir) + "/missing"
	authority, err := os.ReadFile(good.CA)
	if err != nil {
		t.Fatal(err)
	}
	half := dir.write(t, "half.pem", append(bytes.Clone(authority), authority[:len(authority)/2]...))
	damaged := bytes.Clone(authority)
	damaged[len(damaged)/2] = '!'
	spoilt := dir.write(t, "spoilt.pem", append(damaged, authority...))
	for _, test := range []struct {
		name  string
		files weft.Files
		cfg   *weft.Config
		want  string
	}{
		{"authority half written", weft.Files{CA: half}, nil, "not written to its end"},
		{"authority damaged", weft.Files{CA: spoilt}, nil, "it is damaged"},
		{"certificate half written", weft.Files{Cert: half, Key: good.Key}, nil, "not written to its end"},
		{"certificate without key", weft.Files{Cert: good.Cert}, nil, "go together"},
		{"key without certificate", weft.Files{Key: good.Key}, nil, "go together"},
		{"missing certificate", weft.Files{Cert: missing, Key: good.Key}, nil, "certificate file"},
		{"missing key", weft.Files{Cert: good.Cert, Key: missing}, nil, "key file"},
		{"missing authority", weft.Files{CA: missing}, nil, "CA file"},
		{"key of another", weft.Files{Cert: good.Cert, Key: otherKey}, nil, "private key does not match"},
		{"files swapped", weft.Files{Cert: good.Key, Key: good.Cert}, nil, "key.pem with key file"},
		{"authority is a key", weft.Files{CA: good.Key}, nil, "PRIVATE KEY, want certificates"},
		{"version 1.1", good, &weft.Config{MinVersion: tls.VersionTLS11}, "TLS 1.1"},
		{"no protocols", good, &weft.Config{Protocols: []string{}}, "no protocols"},
		{"empty protocol", good, &weft.Config{Protocols: []string{"h2", ""}}, `""`},
		{"long protocol", good, &weft.Config{Protocols: []string{strings.Repeat("x", 256)}}, "255"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := weft.Load(test.files, test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Load: %v, want an error with %q", err, test.want)
			}
			if missing := strings.HasPrefix(test.name, "missing"); missing != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Load: %v; is fs.ErrNotExist: %v", err, !missing)
			}
		})
	}
	if _, err := weft.Load(good, nil); err != nil {
		t.Errorf("Load of good files: %v", err)
	}
	if _, err := weft.Load(weft.Files{}, nil); err != nil {
		t.Errorf("Load of nothing, the authorities of the system: %v", err)
	}
}

func TestPeerIdentity(t *testing.T) {
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	leaf := &x509.Certificate{
		URIs:           []*url.URL{parse("spiffe://example.org/shop"), parse("admin.example"), parse("urn:weft:shop")},
		DNSNames:       []string{"Shop.Example", "*.example", "spiffe://example.org/admin", "", "a b"},
		EmailAddresses: []string{"shop@example.org"},
		IPAddresses:    []net.IP{net.IPv6loopback},
	}
	leaf.Subject.CommonName = "admin.example"
	certs := []*x509.Certificate{leaf}
	for _, test := range []struct {
		name  string
		state tls.ConnectionState
		want  []string
	}{
		{"verified", tls.ConnectionState{PeerCertificates: certs, VerifiedChains: [][]*x509.Certificate{certs}},
			[]string{"spiffe://example.org/shop", "urn:weft:shop", "shop.example", "*.example"}},
		{"not verified", tls.ConnectionState{PeerCertificates: certs}, nil},
		{"no certificate", tls.ConnectionState{}, nil},
	} {
		if got := weft.PeerIdentity(test.state); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
