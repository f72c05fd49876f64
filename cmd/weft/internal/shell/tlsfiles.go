package shell

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles are the flags of TLS. They are the same for servers and registries.
type TLSFiles struct {
	CA, Cert, Key, ServerName string
	Insecure                  bool
}

// Check says what is wrong with the flags, before any connection is made.
func (f *TLSFiles) Check() error {
	if (f.Cert == "") != (f.Key == "") {
		return fmt.Errorf("--cert and --key belong together, and one of them is missing; %w", ErrUsage)
	}
	return nil
}

// Config reads the files.
func (f *TLSFiles) Config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName, InsecureSkipVerify: f.Insecure}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, Unreadable("--cacert", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, Unreadable("--cacert", fmt.Errorf("%s has no certificate in PEM", f.CA))
		}
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, Unreadable("--cert and --key", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
