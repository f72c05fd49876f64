// Package tls makes TLS configurations whose certificates follow their files.
//
// A [Source] reads a certificate, its key and an authority from PEM files, and
// reads them again when they change, so that a rotation needs no restart: new
// connections use the new files while old ones live on. A new file that is broken
// is reported and left aside; the last good set stays in use.
//
//	source, err := tls.Load(tls.Files{Cert: "server.pem", Key: "server.key", CA: "clients.pem"}, nil)
//	config, err := source.ServerConfig() // a *crypto/tls.Config, for any server
//
// The defaults are strict: TLS 1.3, the protocol "weft/1" agreed by ALPN, names
// taken from the subject alternative names alone, and no way to leave out
// verification. A server with an authority demands a certificate of its clients
// (mutual TLS).
package tls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/logger"
)

// Protocol is weft's name in ALPN.
const Protocol = "weft/1"

// DefaultCheckEvery is the [Config.CheckEvery] of a zero configuration.
const DefaultCheckEvery = time.Second

// Files are paths of PEM files.
type Files struct {
	// Cert is the own certificate, followed by its intermediates, and Key its
	// private key. Both or neither. A server needs them; a client needs them
	// where servers ask for them.
	Cert, Key string

	// CA holds the authorities that may sign the certificate of the peer. For a client
	// these are the ones that sign servers, and empty means those of the
	// system. For a server these are the ones that sign clients: when set,
	// every client must show a certificate, when empty none is asked to.
	CA string
}

// Config tunes a [Source]. The zero value is ready for use.
type Config struct {
	// MinVersion is the lowest version spoken: tls.VersionTLS13, which zero
	// means as well, or tls.VersionTLS12.
	MinVersion uint16

	// Protocols are the ALPN names spoken, best first. Nil means [Protocol]
	// alone. A server that serves foreign wires on its port lists those too,
	// for example "h2" for gRPC.
	Protocols []string

	// AllowNoALPN accepts a peer that does not speak ALPN at all, as clients of
	// old wires do and as TLS terminators make it look. It is refused by
	// default. A peer that offers other names only is always refused.
	AllowNoALPN bool

	// CheckEvery is how often the files are read again at most. They are read
	// when a connection is made, so a quiet source does nothing. Zero means
	// [DefaultCheckEvery], negative means never.
	CheckEvery time.Duration

	// Logger is told of each set of files that was taken into use (level Info)
	// or found broken (level Error, once for each different error), and of the own
	// certificate when it is near its end (level Warn) or has ended (level Error). Nil:
	// warnings and errors go to slog.Default(); slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Source holds the certificates of one [Files]. Its methods may be called from many
// goroutines.
type Source struct {
	files      Files
	minVersion uint16
	protocols  []string
	allowNone  bool
	interval   time.Duration
	logger     *slog.Logger

	loaded atomic.Pointer[material] // the set in use; never nil

	mu      sync.Mutex // held to read the files again
	checked time.Time  // when they were read last
	broken  string     // the error reported last, empty once the files are good
	tellAt  time.Time  // when to look again whether the certificate is near its end
}

// Load reads files and returns a source of configurations. A nil cfg means the
// defaults; cfg is not kept. It fails when a file cannot be read or used, the key
// does not belong to the certificate, or cfg is out of range.
func Load(files Files, cfg *Config) (*Source, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	s := &Source{
		files:      files,
		minVersion: cfg.MinVersion,
		protocols:  []string{Protocol},
		allowNone:  cfg.AllowNoALPN,
		interval:   cfg.CheckEvery,
		logger:     logger.OrDefault(cfg.Logger),
		checked:    time.Now(),
	}
	if cfg.Protocols != nil {
		s.protocols = slices.Clip(slices.Clone(cfg.Protocols)) // an append makes a copy
	}
	if s.minVersion == 0 {
		s.minVersion = tls.VersionTLS13
	}
	if s.interval == 0 {
		s.interval = DefaultCheckEvery
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	raw, err := s.files.read()
	if err != nil {
		return nil, err
	}
	m, err := s.parse(raw)
	if err != nil {
		return nil, err
	}
	s.loaded.Store(m)
	s.tellEnd(s.checked)
	return s, nil
}

func (s *Source) validate() error {
	if s.minVersion != tls.VersionTLS12 && s.minVersion != tls.VersionTLS13 {
		return fmt.Errorf("tls: minimum version %s: want TLS 1.3 or TLS 1.2", tls.VersionName(s.minVersion))
	}
	if len(s.protocols) == 0 {
		return errors.New("tls: no protocols: leave the list nil for the default")
	}
	for _, p := range s.protocols {
		if len(p) == 0 || len(p) > 255 {
			return fmt.Errorf("tls: protocol name %q: want 1 to 255 bytes", p)
		}
	}
	if (s.files.Cert == "") != (s.files.Key == "") {
		return errors.New("tls: a certificate and its key go together: give both files or neither")
	}
	return nil
}

// ServerConfig returns a configuration for the accepting side, good for any number
// of listeners and for the life of the source. It fails without a certificate.
//
// Everything in it is decided per connection by its GetConfigForClient, so changes
// to other fields of a clone have no effect. Sessions are not resumed: every
// connection proves what the files demand at that time.
func (s *Source) ServerConfig() (*tls.Config, error) {
	if s.loaded.Load().cert == nil {
		return nil, errors.New("tls: a server needs a certificate: set the Cert and Key files")
	}
	return &tls.Config{
		MinVersion: s.minVersion,
		NextProtos: s.protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.current().server, nil
		},
	}, nil
}

// newServerConfig is what one connection is held to.
func (s *Source) newServerConfig(cert *tls.Certificate, authorities *x509.CertPool) *tls.Config {
	cfg := &tls.Config{
		MinVersion:       s.minVersion,
		NextProtos:       s.protocols,
		Certificates:     []tls.Certificate{*cert},
		VerifyConnection: s.checkProtocol,
		// A ticket would let a client in again after its authority was removed.
		SessionTicketsDisabled: true,
	}
	if authorities != nil {
		cfg.ClientCAs = authorities
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg
}

// ClientConfig returns a configuration for connections to the server that goes by
// serverName, a DNS name or an IP address. An empty name must be filled in by
// the dialing code.
//
// Call it for every dial, which is cheap, and each connection has the newest files.
// Where one configuration is kept for many dials, its client certificate is always
// the newest too, and a removed authority is no longer trusted; but an added one is
// not yet trusted, because the standard library lets a client set its authorities
// only beforehand, unless it gives up the library's own verification. [Wrap] calls
// it for every dial.
func (s *Source) ClientConfig(serverName string) *tls.Config {
	now := s.current()
	cfg := &tls.Config{
		ServerName: serverName,
		MinVersion: s.minVersion,
		NextProtos: s.protocols,
		RootCAs:    now.authorities,
		VerifyConnection: func(state tls.ConnectionState) error {
			if err := s.checkProtocol(state); err != nil {
				return err
			}
			return s.checkAuthority(state, now.authorities)
		},
	}
	if now.cert != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return s.current().cert, nil
		}
	}
	return cfg
}

// checkProtocol refuses a peer that speaks no ALPN, which crypto/tls lets pass.
func (s *Source) checkProtocol(state tls.ConnectionState) error {
	if state.NegotiatedProtocol == "" && !s.allowNone {
		return fmt.Errorf("tls: the peer agreed on no protocol by ALPN, want one of %q", s.protocols)
	}
	return nil
}

// checkAuthority asks again if the authorities have changed since the configuration
// was made. crypto/tls has by then verified the server's chain and name against the
// former ones; the name does not depend on them.
func (s *Source) checkAuthority(state tls.ConnectionState, former *x509.CertPool) error {
	now := s.current().authorities
	if now == former {
		return nil
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: now, Intermediates: intermediates})
	return err
}
