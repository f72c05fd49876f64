package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/weftrpc/weft/transport/tls"
)

// authority signs certificates, numbered from 1, and keeps them in a folder.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, key: key}
	template := a.template()
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		return nil, err
	}
	return a, a.write("ca.pem", "CERTIFICATE", raw)
}

// template is a certificate of the next number, good for an hour on either side.
func (a *authority) template() *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      pkix.Name{Organization: []string{"weft example"}},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// issue writes a certificate for a name, and its key, to the files that begin
// with base.
func (a *authority) issue(base, name string) (tls.Files, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Files{}, err
	}
	template := a.template()
	template.DNSNames = []string{name}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return tls.Files{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Files{}, err
	}
	if err := a.write(base+".key", "PRIVATE KEY", secret); err != nil {
		return tls.Files{}, err
	}
	return tls.Files{
		Cert: filepath.Join(a.dir, base+".pem"),
		Key:  filepath.Join(a.dir, base+".key"),
		CA:   filepath.Join(a.dir, "ca.pem"),
	}, a.write(base+".pem", "CERTIFICATE", cert)
}

func (a *authority) write(name, kind string, raw []byte) error {
	return os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
}
