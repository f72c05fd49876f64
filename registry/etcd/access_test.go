package etcd

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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
)

// addUsers gives an etcd a user that may do what a registry needs below the prefix.
func addUsers(t *testing.T, c *clientv3.Client) {
	t.Helper()
	ctx := testContext(t, time.Minute)
	permission := clientv3.PermissionType(clientv3.PermReadWrite)
	for _, step := range []func() error{
		func() error { _, err := c.RoleAdd(ctx, "root"); return err },
		func() error { _, err := c.UserAdd(ctx, "root", "root's"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "registry"); return err },
		func() error {
			_, err := c.RoleGrantPermission(ctx, "registry", "/weft/", clientv3.GetPrefixRangeEnd("/weft/"), permission)
			return err
		},
		func() error { _, err := c.UserAdd(ctx, "weft", "secret"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "weft", "registry"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// everything does each thing that a driver can.
func everything(ctx context.Context, d *driver) error {
	i := arith("one")
	if err := d.Put(ctx, i, time.Minute); err != nil {
		return err
	}
	if err := d.Refresh(ctx, i, time.Minute); err != nil {
		return err
	}
	doc, err := d.Load(ctx, "rules")
	if err != nil {
		return err
	}
	if err := d.Store(ctx, "rules", []byte("x"), doc.Version); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	lists := 0
	var failed error
	err = d.Watch(watching, i.Service, func(registry.List) {
		switch lists++; lists {
		case 1: // what comes of this comes from the stream
			i.Weight = lists
			failed = d.Put(ctx, i, time.Minute)
		case 2:
			cancel()
		}
	})
	if lists < 2 {
		return errors.Join(failed, err)
	}
	return d.Delete(ctx, i)
}

// works fails the test unless everything works, if not at once: a busy machine may end a watch.
func works(t *testing.T, d *driver) {
	t.Helper()
	polltest.Until(t, time.Minute, "everything works", func() error { return everything(testContext(t, 20*time.Second), d) })
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	addUsers(t, s.client(t))
	for _, test := range []struct {
		name string
		cfg  Config
		want string // in the error; "": everything works
	}{
		{"the right password", Config{Username: "weft", Password: "secret"}, ""},
		{"a wrong password", Config{Username: "weft", Password: "guess"}, `log in as "weft"`},
		{"no user", Config{}, "user name is empty"},
		{"keys that the user may not have", Config{Username: "weft", Password: "secret", Prefix: "/other"}, "permission denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.cfg.Endpoints = []string{s.endpoint}
			d := openDriver(t, test.cfg)
			if test.want == "" {
				works(t, d)
				return
			}
			if err := everything(testContext(t, time.Minute), d); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

// logins counts the logins.
type logins struct {
	pb.AuthClient
	n atomic.Int64
}

func (l *logins) Authenticate(ctx context.Context, r *pb.AuthenticateRequest, options ...grpc.CallOption) (*pb.AuthenticateResponse, error) {
	l.n.Add(1)
	return l.AuthClient.Authenticate(ctx, r, options...)
}

// TestRefusedLogin: calls with a wrong password do not each have etcd hash it, and the right one counts soon after it was set.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := s.client(t)
	addUsers(t, admin)
	counted := &logins{AuthClient: pb.NewAuthClient(admin.ActiveConnection())}
	a := &access{username: "weft", password: "changed", client: counted, turn: make(chan struct{}, 1)}
	began := time.Now()
	for range 20 {
		if _, err := a.GetRequestMetadata(testContext(t, time.Minute)); err == nil || !strings.Contains(err.Error(), `log in as "weft"`) {
			t.Fatalf("the error is %v", err)
		}
	}
	if n, most := counted.n.Load(), int64(time.Since(began)/refusedFor)+1; n > most {
		t.Errorf("20 calls with a wrong password have logged in %d times, want at most %d", n, most)
	}
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{s.endpoint}, Username: "root", Password: "root's"})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.UserChangePassword(testContext(t, time.Minute), "weft", "changed"); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, time.Minute, "the changed password counts", func() error {
		_, err := a.GetRequestMetadata(testContext(t, time.Minute))
		return err
	})
}

// TestTokenLost restarts an etcd, which forgets all tokens, under a driver.
func TestTokenLost(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	addUsers(t, s.client(t))
	d := openDriver(t, Config{Endpoints: []string{s.endpoint}, Username: "weft", Password: "secret"})
	works(t, d)
	s.Kill(t)
	s.Start(t)
	works(t, d)
}

// authority makes certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// files writes a certificate for a server on this machine, and its key.
func (a authority) files(t *testing.T) (certificate, private string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "etcd"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, private = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	err = errors.Join(
		os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, private
}

func (a authority) client() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	return &tls.Config{RootCAs: roots}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	known, unknown := newAuthority(t), newAuthority(t)
	certificate, private := known.files(t)
	s := startServer(t, "--cert-file", certificate, "--key-file", private)
	for _, test := range []struct {
		name     string
		endpoint string
		tls      *tls.Config
		fails    bool
	}{
		{"a known authority", s.endpoint, known.client(), false},
		{"https and a known authority", "https://" + s.endpoint, known.client(), false},
		{"another authority", s.endpoint, unknown.client(), true},
		{"the authorities of the system", "https://" + s.endpoint, nil, true},
		{"no TLS", s.endpoint, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := openDriver(t, Config{Endpoints: []string{test.endpoint}, TLS: test.tls})
			if !test.fails {
				works(t, d)
			} else if everything(testContext(t, 10*time.Second), d) == nil { // as long as the library tries again
				t.Error("everything works")
			}
		})
	}
}
