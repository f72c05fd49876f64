package weft_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
	wefttls "github.com/weftrpc/weft/transport/tls"
	"github.com/weftrpc/weft/transport/unix"
)

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert = a.sign(t, template, template, a.key)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func (a *authority) sign(t testing.TB, template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(t, err)
	template.SerialNumber, template.Subject = serial, pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert
}

// write puts a certificate for a DNS name, its key and the authority's certificate
// into files, replacing those that are there.
func (a *authority) write(t testing.TB, dir, name string) wefttls.Files {
	t.Helper()
	key := newKey(t)
	cert := a.sign(t, &x509.Certificate{
		DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	f := wefttls.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	for path, block := range map[string]*pem.Block{
		f.Cert: {Type: "CERTIFICATE", Bytes: cert.Raw}, f.Key: {Type: "PRIVATE KEY", Bytes: der}, f.CA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return f
}

func load(t testing.TB, files wefttls.Files) *wefttls.Source {
	t.Helper()
	source, err := wefttls.Load(files, &wefttls.Config{CheckEvery: time.Millisecond})
	must(t, err)
	return source
}

// caller registers a method that tells by what names its caller is known.
func callerNames(s *weft.Server) error {
	return errors.Join(s.Register(Arith{}), weft.Handle(s, "Who.Names", func(ctx context.Context, _ *Args) (*string, error) {
		state := weft.PeerFrom(ctx).TLS()
		if state == nil {
			return ptr("plaintext"), nil
		}
		return ptr(state.NegotiatedProtocol + " " + strings.Join(wefttls.PeerIdentity(*state), ",")), nil
	}))
}

// Both sides show certificates, on every transport, and the handler knows its caller.
func TestMutualTLS(t *testing.T) {
	ca := newAuthority(t)
	server := load(t, ca.write(t, t.TempDir(), "server.example"))
	client := load(t, ca.write(t, t.TempDir(), "client.example"))
	serverConfig, err := server.ServerConfig()
	must(t, err)
	all := transports(mem.New(), tcp.New(nil), unix.New(nil))
	for _, addr := range []string{"mem://server", "tcp://127.0.0.1:0", "unix://" + filepath.Join(t.TempDir(), "s")} {
		t.Run(addr, func(t *testing.T) {
			srv := weft.NewServer(&weft.ServerConfig{TLS: serverConfig, Transports: all})
			must(t, callerNames(srv))
			addr := serve(t, srv, addr)
			c := dial(t, addr, &weft.ClientConfig{Transports: all, TLSFunc: func() *tls.Config { return client.ClientConfig("server.example") }})
			multiply(t, c)
			if who, err := weft.Invoke[string](t.Context(), c, "Who.Names", &Args{}); err != nil || *who != "weft/1 client.example" {
				t.Errorf("%v, %v", who, err)
			}
			if state := c.Peer().TLS(); state == nil || state.Version != tls.VersionTLS13 || state.VerifiedChains[0][0].DNSNames[0] != "server.example" {
				t.Errorf("the client's view: %+v", state)
			}
		})
	}
}

// The callbacks of a server's TLS configuration see the connection that the listener accepted.
func TestTLSCallbacks(t *testing.T) {
	ca := newAuthority(t)
	files := ca.write(t, t.TempDir(), "server.example")
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	must(t, err)
	var seen atomic.Int32
	see := func(hello *tls.ClientHelloInfo) {
		if _, ok := hello.Conn.(*net.TCPConn); !ok {
			t.Errorf("a callback sees a %T", hello.Conn)
		}
		seen.Add(1)
	}
	srv := weft.NewServer(&weft.ServerConfig{TLS: &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { see(hello); return nil, nil },
		GetCertificate:     func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { see(hello); return &pair, nil },
	}})
	must(t, callerNames(srv))
	client := load(t, ca.write(t, t.TempDir(), "client.example"))
	multiply(t, dial(t, serve(t, srv, "tcp://127.0.0.1:0"), &weft.ClientConfig{TLS: client.ClientConfig("server.example")}))
	if seen.Load() != 2 {
		t.Errorf("%d callbacks were called, want both", seen.Load())
	}
}

// TLS asked for is TLS: each mismatch is refused, with words that help.
func TestTLSMismatch(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	server, err := load(t, ca.write(t, t.TempDir(), "server.example")).ServerConfig()
	must(t, err)
	anonymous := ca.write(t, t.TempDir(), "server.example")
	anonymous.Cert, anonymous.Key = "", ""
	var logged log
	secure := weft.NewServer(&weft.ServerConfig{TLS: server, Logger: logged.logger()})
	plain := weft.NewServer(nil)
	must(t, errors.Join(callerNames(secure), callerNames(plain)))
	secureAddr, plainAddr := serve(t, secure, "tcp://127.0.0.1:0"), serve(t, plain, "tcp://127.0.0.1:0")
	good := load(t, ca.write(t, t.TempDir(), "client.example"))
	for _, tt := range []struct {
		name, addr string
		tls        *tls.Config
		code       weft.Code
		want       string
	}{
		{"plaintext client", secureAddr, nil, weft.FailedPrecondition, "speaks TLS alone"},
		{"plaintext server", plainAddr, good.ClientConfig("server.example"), weft.Unavailable, "may not speak TLS"},
		{"another name", secureAddr, good.ClientConfig("other.example"), weft.Unavailable, "other.example"},
		{"no name but the address", secureAddr, good.ClientConfig(""), weft.Unavailable, "127.0.0.1"},
		{"another authority", secureAddr, load(t, stranger.write(t, t.TempDir(), "client.example")).ClientConfig("server.example"), weft.Unavailable, "unknown authority"},
		{"no client certificate", secureAddr, load(t, anonymous).ClientConfig("server.example"), weft.Unavailable, "certificate required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := firstCall(t, tt.addr, &weft.ClientConfig{TLS: tt.tls})
			wantError(t, err, tt.code, weft.NotSent, tt.want)
		})
	}
	_, err = weft.Dial(t.Context(), secureAddr, &weft.ClientConfig{TLSFunc: func() *tls.Config { return nil }})
	wantError(t, err, weft.FailedPrecondition, weft.NotSent, "TLSFunc returned no TLS configuration")
	wantText(t, logged.String(), "TLS handshake failed")
	multiply(t, dial(t, secureAddr, &weft.ClientConfig{TLS: good.ClientConfig("server.example")}))
	multiply(t, dial(t, plainAddr, nil))
}

// A connection whose handshake never ends is closed in time, and the log names the limit as it is configured.
func TestSlowTLSHandshake(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(t *testing.T, conn net.Conn, cfg *tls.Config)
		after time.Duration
		want  string
	}{
		{"silent", func(*testing.T, net.Conn, *tls.Config) {}, time.Second,
			"the client's first message of TLS has not come within half of Limits.HandshakeTimeout (2s)"},
		{"silent behind its first message", func(t *testing.T, conn net.Conn, cfg *tls.Config) {
			here, there := net.Pipe()
			go tls.Client(there, cfg).Handshake() // until there is closed
			hello := make([]byte, 16<<10)
			n, err := here.Read(hello)
			must(t, errors.Join(err, there.Close()))
			_, err = conn.Write(hello[:n])
			must(t, err)
		}, 2 * time.Second, "it was not over within Limits.HandshakeTimeout (2s)"},
		{"silent in TLS", func(t *testing.T, conn net.Conn, cfg *tls.Config) {
			c := tls.Client(conn, cfg)
			must(t, c.Handshake())
			_, err := c.Write([]byte("\xf7weft\r\n\x01"))
			must(t, err)
		}, 4 * time.Second, "with TLS it was not over within twice Limits.HandshakeTimeout (2s)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ca := newAuthority(t)
				server, err := load(t, ca.write(t, t.TempDir(), "server.example")).ServerConfig()
				must(t, err)
				var logged log
				w := start(t, &weft.ServerConfig{TLS: server, Logger: logged.logger(), Limits: weft.Limits{HandshakeTimeout: 2 * time.Second}}, nil)
				began := time.Now()
				conn, err := w.net.Dial(t.Context(), "server")
				must(t, err)
				defer conn.Close()
				tt.begin(t, conn, load(t, ca.write(t, t.TempDir(), "client.example")).ClientConfig("server.example"))
				io.Copy(io.Discard, conn)
				if d := time.Since(began); d < tt.after || d > tt.after+500*time.Millisecond { // the client is told why
					t.Errorf("closed after %v, want %v", d, tt.after)
				}
				synctest.Wait()
				wantText(t, logged.String(), tt.want)
			})
		})
	}
}

// Certificates that change in their files are in use from the next connection on,
// on both sides; connections that are there go on.
func TestTLSReload(t *testing.T) {
	ca := newAuthority(t)
	serverDir, clientDir := t.TempDir(), t.TempDir()
	server := load(t, ca.write(t, serverDir, "server.example"))
	client := load(t, ca.write(t, clientDir, "client-1.example"))
	cfg, err := server.ServerConfig()
	must(t, err)
	srv := weft.NewServer(&weft.ServerConfig{TLS: cfg})
	must(t, callerNames(srv))
	addr := serve(t, srv, "tcp://127.0.0.1:0")
	clientConfig := &weft.ClientConfig{TLSFunc: func() *tls.Config { return client.ClientConfig("server.example") }}
	old := dial(t, addr, clientConfig)
	serial := func(c *weft.Client) string { return c.Peer().TLS().PeerCertificates[0].SerialNumber.String() }
	names := func(c *weft.Client) string {
		who, err := weft.Invoke[string](t.Context(), c, "Who.Names", &Args{})
		must(t, err)
		return *who
	}
	first := serial(old)
	ca.write(t, serverDir, "server.example")
	ca.write(t, clientDir, "client-2.example")
	time.Sleep(10 * time.Millisecond)
	fresh := dial(t, addr, clientConfig)
	if names(old) != "weft/1 client-1.example" || names(fresh) != "weft/1 client-2.example" {
		t.Errorf("the server sees %q and %q", names(old), names(fresh))
	}
	if serial(fresh) == first || serial(old) != first {
		t.Errorf("the clients see %s and %s, at first %s", serial(old), serial(fresh), first)
	}
}

// A transport that brings TLS of its own is TLS too.
func TestWrappedTransport(t *testing.T) {
	ca := newAuthority(t)
	network := mem.New()
	server := wefttls.Wrap(network, load(t, ca.write(t, t.TempDir(), "server.example")), "")
	client := wefttls.Wrap(network, load(t, ca.write(t, t.TempDir(), "client.example")), "server.example")
	srv := weft.NewServer(&weft.ServerConfig{Transports: transports(server)})
	must(t, callerNames(srv))
	addr := serve(t, srv, "mem+tls://server")
	c := dial(t, addr, &weft.ClientConfig{Transports: transports(client)})
	if who, err := weft.Invoke[string](t.Context(), c, "Who.Names", &Args{}); err != nil || *who != "weft/1 client.example" {
		t.Errorf("%v, %v", who, err)
	}
}
