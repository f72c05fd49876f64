package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// certificate writes a certificate that signs itself, for this machine, and its key.
func certificate(t *testing.T, name string, end time.Time) (cert, key string, pair tls.Certificate) {
	t.Helper()
	return certificateFor(t, name, end.Add(-10000*time.Hour), end)
}

// certificateFor writes a certificate that is good in a time.
func certificateFor(t *testing.T, name string, from, end time.Time) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: from, NotAfter: end, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	cert, key = write(t, "cert.pem", string(certText)), write(t, "key.pem", string(keyText))
	if pair, err = tls.X509KeyPair(certText, keyText); err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

// TestTLS calls a server that wants a certificate, by all wires with TLS, and has the doctor look at
// certificates.
func TestTLS(t *testing.T) {
	cert, key, pair := certificate(t, "weft.test", time.Now().Add(100*24*time.Hour))
	pool := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool.AppendCertsFromPEM(text)
	s := begin(t, func(cfg *weft.ServerConfig) {
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	})
	flags := []string{"--cacert", cert, "--cert", cert, "--key", key}
	for _, address := range []string{s.address, "grpcs://" + s.at, "https://" + s.at} {
		args := append([]string{"call", address, "Arith.Mul", `{"A":6,"B":7}`, "--tls"}, flags...)
		expect(t, 0, "42\n", "", "", args...)
	}
	expect(t, 4, "", "looks at the certificate", "", "call", s.address, "Arith.Mul", "--tls")
	expect(t, 0, "it is for weft.test, 127.0.0.1, until", "", "", append([]string{"doctor", s.address, "--tls"}, flags...)...)
	expect(t, 1, "not for other.test", "", "", append([]string{"doctor", s.address, "--tls", "--servername", "other.test"}, flags...)...)
	expect(t, 1, "not for other.test", "", "", append([]string{"doctor", "connect+https://" + s.at, "--servername", "other.test"}, flags...)...)
	expect(t, 1, "name the authority with --cacert", "", "", "doctor", s.address, "--tls", "--cert", cert, "--key", key)

	// The certificate is the cause, and it has TLS already.
	expect(t, 1, "see what is said of the certificate", "", "", "doctor", s.address, "--tls", "--cert", cert, "--key", key)
	expect(t, 1, "see what is said of the certificate", "", "", "doctor", s.address, "--tls", "--cacert", cert)
	expect(t, 1, "add --tls if the server has TLS", "", "", "doctor", s.address)

	_, _, soon := certificate(t, "weft.test", time.Now().Add(5*24*time.Hour+time.Hour))
	old := begin(t, func(cfg *weft.ServerConfig) { cfg.TLS = &tls.Config{Certificates: []tls.Certificate{soon}} })
	oldCA := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: soon.Certificate[0]})))
	expect(t, 0, "ends in 5 days", "", "", "doctor", old.address, "--tls", "--cacert", oldCA)
	expect(t, 1, "ends in 5 days", "", "", "doctor", old.address, "--tls", "--cacert", oldCA, "--strict")
	_, _, ended := certificate(t, "weft.test", time.Now().Add(-time.Hour))
	past := begin(t, func(cfg *weft.ServerConfig) { cfg.TLS = &tls.Config{Certificates: []tls.Certificate{ended}} })
	expect(t, 1, "renew the certificate", "", "", "doctor", past.address, "--tls", "-k")
}

// TestNearEnd: the doctor warns of a certificate when the log of its server does, 14 days before its end or when a fifth of its time is left.
func TestNearEnd(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		life, left time.Duration
		want       string
	}{
		{100 * day, 20 * day, "0 errors, 0 warnings"},
		{100 * day, 13*day + time.Hour, "ends in 13 days"},
		{day, 23 * time.Hour, "0 errors, 0 warnings"},
		{day, 4 * time.Hour, "ends in 3h59m"},
	} {
		end := time.Now().Add(c.left)
		cert, _, pair := certificateFor(t, "weft.test", end.Add(-c.life), end)
		s := begin(t, func(cfg *weft.ServerConfig) { cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}} })
		eventually(t, 0, c.want, "", "doctor", s.address, "--tls", "--cacert", cert) // a busy machine may answer too late, which is a warning
	}
}

// TestDoctor looks into a server and a registry with what can be wrong with them.
func TestDoctor(t *testing.T) {
	s := begin(t)
	eventually(t, 0, "0 errors, 0 warnings", "", "doctor", s.address) // a busy machine may answer too late, which is a warning
	for _, want := range []string{"ok       reach " + s.address, "clock " + s.address, "versions " + s.address} {
		expect(t, 0, want, "", "", "doctor", s.address)
	}
	expect(t, 0, `"level": "ok"`, "", "", "doctor", s.address, "-o", "json")
	expect(t, 0, "\x1b[32mok     \x1b[0m", "", "", "doctor", s.address, "--color", "always")
	nothing := "tcp://" + localPort(t)
	expect(t, 1, "see whether the server runs", "", "", "doctor", nothing)
	expect(t, 1, "weft help addresses", "", "", "doctor", "tcp://127.0.0.1")
	within(t, 2*time.Second, 1, "wire grpc", "", "doctor", "grpc://"+foreign(t))
	expect(t, 1, "see whether it runs", "", "", "doctor", "--registry", "etcd://"+localPort(t), "--timeout", "3s")

	folder := t.TempDir()
	path := filepath.Join(folder, "registry.json")
	writeFile(t, path, fmt.Sprintf(`{"services": {
		"Arith": [{"id": "a", "address": %q}, {"id": "b", "address": %q}, {"id": "c", "address": "tcp://0.0.0.0:1"}],
		"Shop": [{"address": %q}]}}`, s.address, s.address, nothing))
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, "version 1 of the rules", "", `{"instances": [{"name": "canary", "match": {"version": "2.0"}, "weight": 5}]}`, "rules", "apply", "Arith")
	for _, want := range []string{"it has the address " + s.address + " of instance a", "no address to connect to", `the instance rule "canary" matches no instance`} {
		within(t, 3*time.Second, 1, want, "", "doctor", "Arith")
	}
	expect(t, 1, "none is registered", "", "", "doctor", "Nothing")
	expect(t, 2, "", "name a service", "", "doctor")
	writeFile(t, path, "{ oops")
	code, out, log := run(t, "", "doctor", "Arith")
	if code != 1 || !strings.Contains(out, "mend the file") || strings.Contains(out+log, "weft doctor") {
		t.Errorf("of a file that is wrong doctor returns %d and writes:\n%s%s", code, out, log)
	}
	expect(t, 4, "", "'weft doctor' looks into it", "", "instances", "Arith")
}

// TestDoctorMembers looks into an etcd of which one member is not there.
func TestDoctorMembers(t *testing.T) {
	listen, dead := localPort(t), localPort(t)
	upAt(t, listen, t.TempDir())
	args := []string{"doctor", "--registry", "etcd://" + listen + "," + dead}
	within(t, 3*time.Second, 0, "member etcd://"+listen+": it ", "", args...)
	within(t, 3*time.Second, 0, "warning  member etcd://"+dead+": ", "", args...)
}

// foreign listens and closes every connection.
func foreign(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // it ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

// TestExplain explains a call with a server, one without, and one that rules forbid.
func TestExplain(t *testing.T) {
	s := begin(t)
	path := filepath.Join(t.TempDir(), "registry.json")
	writeFile(t, path, fmt.Sprintf(`{"services": {"Arith": [{"id": "a", "address": %q}]}}`, s.address))
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, "Arith.Mul would go to a", "", "", "explain", "Arith.Mul", `{"A":1}`)
	expect(t, 0, `"pick": "a"`, "", "", "explain", "Arith.Mul", "-o", "json")
	expect(t, 0, "a\n", "", "", "explain", "Arith.Mul", "-o", "name", "--hash-key", "k")
	within(t, 2*time.Second, 4, "Nothing.At", "'weft doctor Nothing'", "explain", "Nothing.At")
	expect(t, 2, "", "is no JSON", "", "explain", "Arith.Mul", "{")
	expect(t, 2, "", "want Service.Method", "", "explain", "Arith")
	expect(t, 2, "", "the only place for a call to go", "", "explain", s.address, "Arith.Mul")
	expect(t, 2, "", "only one place", "", "explain", "Arith.Mul", "--server", s.address)
	expect(t, 0, "in force", "", `{"instances": [{"name": "repair", "match": {"id": "a"}, "state": "off"}]}`, "rules", "apply", "Arith")
	code, out, log := run(t, "", "explain", "Arith.Mul")
	if code != 4 || !strings.Contains(out, `off by rule "repair"`) {
		t.Errorf("of an instance that is off explain returns %d and writes:\n%s%s", code, out, log)
	}
}
