package tls_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	weft "github.com/weftrpc/weft/transport/tls"
)

// serverName is the name that test certificates carry.
const serverName = "orders.example"

// authority signs test certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// identity is a certificate and its key in PEM.
type identity struct {
	cert, key []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	template := newTemplate(t)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign
	template.DNSNames = nil
	a := &authority{key: newKey(t)}
	a.cert = sign(t, template, template, &a.key.PublicKey, a.key)
	return a
}

// issue signs a certificate, good for either side unless change alters it.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) identity {
	t.Helper()
	template := newTemplate(t)
	if change != nil {
		change(template)
	}
	key := newKey(t)
	return encode(t, sign(t, template, a.cert, &key.PublicKey, a.key), key)
}

// selfSigned makes a certificate that vouches for itself.
func selfSigned(t testing.TB) identity {
	t.Helper()
	template := newTemplate(t)
	key := newKey(t)
	return encode(t, sign(t, template, template, &key.PublicKey, key), key)
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func newTemplate(t testing.TB) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: serverName},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		DNSNames:     []string{serverName},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func encode(t testing.TB, cert *x509.Certificate, key *ecdsa.PrivateKey) identity {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return identity{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

func (id identity) pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(id.cert, id.key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func (id identity) serial(t testing.TB) string {
	return id.pair(t).Leaf.SerialNumber.String()
}

// directory is where a test keeps the files of a source.
type directory string

func newDirectory(t testing.TB) directory { return directory(t.TempDir()) }

func (d directory) write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(string(d), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// files writes an identity, if it has one, and an authority, if not nil.
func (d directory) files(t testing.TB, id identity, ca *authority) weft.Files {
	t.Helper()
	var f weft.Files
	if id.cert != nil {
		f.Cert = d.write(t, "cert.pem", id.cert)
		f.Key = d.write(t, "key.pem", id.key)
	}
	if ca != nil {
		f.CA = d.write(t, "ca.pem", ca.pem())
	}
	return f
}

// load makes a source of a directory of its own, one that looks at its files for
// every connection unless cfg says otherwise.
func load(t testing.TB, id identity, ca *authority, cfg *weft.Config) (*weft.Source, directory) {
	t.Helper()
	if cfg == nil {
		cfg = &weft.Config{CheckEvery: time.Nanosecond}
	}
	dir := newDirectory(t)
	s, err := weft.Load(dir.files(t, id, ca), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func serverConfig(t testing.TB, s *weft.Source) *tls.Config {
	t.Helper()
	cfg, err := s.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
