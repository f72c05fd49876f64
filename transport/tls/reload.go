package tls

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// material is one good set of files, parsed. It never changes.
type material struct {
	raw         contents
	cert        *tls.Certificate // nil without a Cert file
	authorities *x509.CertPool   // nil without a CA file
	server      *tls.Config      // nil without a Cert file
}

// contents are the bytes of a set of files; nil for a file that is not used.
type contents struct {
	cert, key, ca []byte
}

func (c contents) equal(d contents) bool {
	return bytes.Equal(c.cert, d.cert) && bytes.Equal(c.key, d.key) && bytes.Equal(c.ca, d.ca)
}

// current returns the set for a new connection, after a look at the files if the
// last one is long enough ago. While one caller looks, others go on with the set
// they have.
func (s *Source) current() *material {
	every := s.interval
	if every < 0 {
		every = DefaultCheckEvery // of the end of the certificate alone
	}
	if s.mu.TryLock() {
		if now := time.Now(); now.Sub(s.checked) >= every {
			s.checked = now
			if s.interval > 0 {
				s.reload()
			}
			s.tellEnd(now)
		}
		s.mu.Unlock()
	}
	return s.loaded.Load()
}

// reload takes changed files into use. It compares bytes, not times and sizes: a
// file replaced by one of its own age and length, or caught half written, is then no
// special case, and three small reads a second cost nothing beside a handshake.
func (s *Source) reload() {
	raw, err := s.files.read()
	if err == nil && raw.equal(s.loaded.Load().raw) {
		s.broken = ""
		return
	}
	var m *material
	if err == nil {
		m, err = s.parse(raw)
	}
	if err != nil {
		// A certificate and its key cannot be replaced in one step, so this may
		// last a moment only. The next look tries again.
		if s.broken != err.Error() {
			s.broken = err.Error()
			s.logger.Error("certificate files not taken into use, the former ones stay", slog.Any("error", err))
		}
		return
	}
	s.broken = ""
	s.loaded.Store(m)
	s.tellAt = time.Time{}
	var attrs []any
	if m.cert != nil {
		attrs = append(attrs, slog.String("cert", s.files.Cert), slog.Time("not_after", m.cert.Leaf.NotAfter))
	}
	if m.authorities != nil {
		attrs = append(attrs, slog.String("ca", s.files.CA))
	}
	s.logger.Info("certificate files taken into use", attrs...)
}

const (
	// nearEnd is when a certificate is near its end at the earliest; one that is made for less time is when a fifth of that is left.
	nearEnd = 14 * 24 * time.Hour
	// tellEvery is the least time between two lines about that.
	tellEvery = time.Hour
)

// tellEnd logs that the own certificate is near its end: each time that half of what was left has passed, and when it has ended.
func (s *Source) tellEnd(now time.Time) {
	m := s.loaded.Load()
	if m.cert == nil || now.Before(s.tellAt) {
		return
	}
	from, until := m.cert.Leaf.NotBefore, m.cert.Leaf.NotAfter
	left := until.Sub(now)
	if left > min(nearEnd, until.Sub(from)/5) {
		return
	}
	attrs := []any{slog.String("cert", s.files.Cert), slog.Time("not_after", until)}
	if left <= 0 {
		s.tellAt = now.Add(tellEvery)
		s.logger.Error("the certificate has ended: replace its files", attrs...)
		return
	}
	s.tellAt = now.Add(min(max(left/2, tellEvery), left))
	s.logger.Warn("the certificate is near its end: replace its files", append(attrs, slog.Duration("left", left.Round(time.Second)))...)
}

// read reads the files that are set.
func (f Files) read() (contents, error) {
	var c contents
	for _, file := range []struct {
		what, path string
		to         *[]byte
	}{{"certificate", f.Cert, &c.cert}, {"key", f.Key, &c.key}, {"CA", f.CA, &c.ca}} {
		if file.path == "" {
			continue
		}
		b, err := os.ReadFile(file.path)
		if err != nil {
			return contents{}, fmt.Errorf("tls: %s file: %w", file.what, err)
		}
		*file.to = b
	}
	return c, nil
}

// parse makes a set of what was read.
func (s *Source) parse(raw contents) (*material, error) {
	m := &material{raw: raw}
	for _, file := range []struct {
		what, path string
		b          []byte
	}{{"CA", s.files.CA, raw.ca}, {"certificate", s.files.Cert, raw.cert}} {
		if err := whole(file.b); err != nil {
			return nil, fmt.Errorf("tls: %s file %s: %w", file.what, file.path, err)
		}
	}
	if s.files.CA != "" {
		pool, err := parseAuthorities(raw.ca)
		if err != nil {
			return nil, fmt.Errorf("tls: CA file %s: %w", s.files.CA, err)
		}
		m.authorities = pool
	}
	if s.files.Cert != "" {
		cert, err := tls.X509KeyPair(raw.cert, raw.key)
		if err != nil {
			return nil, fmt.Errorf("tls: certificate file %s with key file %s: %w", s.files.Cert, s.files.Key, err)
		}
		m.cert = &cert
		m.server = s.newServerConfig(m.cert, m.authorities)
	}
	return m, nil
}

// whole reports a PEM block that begins and cannot be read, because it is damaged or
// its end is not there yet: package pem passes over it.
func whole(rest []byte) error {
	begun, read := bytes.Count(rest, []byte("-----BEGIN ")), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		read++
	}
	if read != begun {
		return fmt.Errorf("%d PEM blocks begin in it, and %d can be read: it is damaged, or not written to its end", begun, read)
	}
	return nil
}

// parseAuthorities reads a PEM file of certificates. The standard library's
// AppendCertsFromPEM passes over what it cannot read; here a damaged certificate is
// an error, so that an authority is never left out silently.
func parseAuthorities(rest []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for n := 1; ; n++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			if n == 1 {
				return nil, errors.New("no PEM block in it")
			}
			return pool, nil
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("PEM block %d is a %s, want certificates only", n, block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", n, err)
		}
		pool.AddCert(cert)
	}
}
