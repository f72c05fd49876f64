package tls_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/tls"
)

// A server and a client with certificates from files, over TCP.
func Example() {
	if err := serveOnce(); err != nil {
		fmt.Println(err)
	}
	// Output: hello over tcp+tls
}

func serveOnce() error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := makeCertificate(cert, key); err != nil {
		return err
	}

	server, err := tls.Load(tls.Files{Cert: cert, Key: key}, nil)
	if err != nil {
		return err
	}
	l, err := tls.Wrap(tcp.New(nil), server, "").Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "hello")
			c.Close()
		}
	}()

	// This server's certificate is its own authority.
	client, err := tls.Load(tls.Files{CA: cert}, nil)
	if err != nil {
		return err
	}
	secure := tls.Wrap(tcp.New(nil), client, "orders.example")
	c, err := secure.Dial(ctx, l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	fmt.Printf("%s over %s\n", b, secure.Scheme())
	return err
}

// makeCertificate stands for the tool that makes the certificates of a deployment.
func makeCertificate(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		DNSNames:              []string{"orders.example"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert},
		keyFile:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		var b bytes.Buffer
		if err := pem.Encode(&b, block); err != nil {
			return err
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}
