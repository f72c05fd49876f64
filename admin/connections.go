package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// ConnectionsRequest is the request of weft.Admin.Connections.
type ConnectionsRequest struct {
	Peer  string `json:"peer,omitempty" weft:"1" doc:"part of the address, the name or the principal of a peer; empty: all"`
	Limit int    `json:"limit,omitempty" weft:"2" doc:"at most so many; 0: 1000"`
}

// Connections are the open connections of a server.
type Connections struct {
	Connections []Connection `json:"connections" weft:"1" doc:"by address"`
	Omitted     int          `json:"omitted,omitempty" weft:"2" doc:"how many more there are"`
}

// Connection is an open connection.
type Connection struct {
	Peer      string  `json:"peer" weft:"1" doc:"the address of the peer"`
	Local     string  `json:"local" weft:"2" doc:"the address at which the server was reached"`
	Wire      string  `json:"wire" weft:"3" doc:"weft, or the name of a door"`
	Name      string  `json:"name,omitempty" weft:"4" doc:"what the client calls itself (ClientConfig.Name); it is not verified"`
	Software  string  `json:"software,omitempty" weft:"5" doc:"what the client is made of; it is not verified"`
	Principal string  `json:"principal,omitempty" weft:"6" doc:"what AuthenticateConn of the server has returned for it"`
	TLS       *TLS    `json:"tls,omitempty" weft:"7" doc:"missing on a plaintext connection"`
	Age       float64 `json:"age_seconds" weft:"8"`
	OpenCalls int     `json:"open_calls" weft:"9" doc:"calls of the peer that wait or run; one that runs on the reader of the connection, as short ones do, is not among them"`
	Read      uint64  `json:"read_bytes,omitempty" weft:"10" doc:"from the connection; missing for a door"`
	Written   uint64  `json:"written_bytes,omitempty" weft:"11" doc:"to the connection; missing for a door"`
}

// TLS is what the handshake of a connection has found.
type TLS struct {
	Version    string    `json:"version" weft:"1"`
	Cipher     string    `json:"cipher" weft:"2"`
	Protocol   string    `json:"protocol,omitempty" weft:"3" doc:"as negotiated by ALPN"`
	ServerName string    `json:"server_name,omitempty" weft:"4" doc:"that the client asked for"`
	Subject    string    `json:"subject,omitempty" weft:"5" doc:"of the client's certificate; empty: it has shown none"`
	Names      []string  `json:"names,omitempty" weft:"6" doc:"DNS names, URIs and addresses in the certificate"`
	Issuer     string    `json:"issuer,omitempty" weft:"7"`
	Expires    time.Time `json:"expires,omitzero" weft:"8" doc:"when the certificate ends"`
	Verified   bool      `json:"verified,omitempty" weft:"9" doc:"the certificate was verified"`
}

// mostListed is how many connections or calls a reply has if the request does not say.
const mostListed = 1000

// connections answers Connections.
func (s *service) connections(_ context.Context, req *ConnectionsRequest) (*Connections, error) {
	all := []Connection{}
	for _, p := range s.srv.Peers() {
		c := s.connection(p)
		if strings.Contains(c.Peer, req.Peer) || strings.Contains(c.Name, req.Peer) || strings.Contains(c.Principal, req.Peer) {
			c.OpenCalls = len(p.OpenCalls())
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Connection) int { return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(b.Age, a.Age)) })
	shown := shown(len(all), req.Limit)
	return &Connections{all[:shown], len(all) - shown}, nil
}

// shown is how many of n are in a reply.
func shown(n, limit int) int {
	if limit <= 0 {
		limit = mostListed
	}
	return min(n, limit)
}

// connection describes a connection, without its calls.
func (s *service) connection(p *weft.Peer) Connection {
	c := Connection{
		Peer: p.Addr().String(), Local: p.LocalAddr().String(), Wire: p.Wire(), Name: p.Name(), Software: p.Software(),
		Principal: s.principal(p.Principal()), Age: max(time.Since(p.Opened()).Seconds(), 0),
	}
	t := p.Traffic()
	c.Read, c.Written = t.Read, t.Written
	if state := p.TLS(); state != nil {
		c.TLS = tlsOf(state)
	}
	return c
}

func tlsOf(state *tls.ConnectionState) *TLS {
	t := &TLS{
		Version: tls.VersionName(state.Version), Cipher: tls.CipherSuiteName(state.CipherSuite),
		Protocol: state.NegotiatedProtocol, ServerName: state.ServerName, Verified: len(state.VerifiedChains) > 0,
	}
	if len(state.PeerCertificates) == 0 {
		return t
	}
	cert := state.PeerCertificates[0]
	t.Subject, t.Issuer, t.Expires = cert.Subject.String(), cert.Issuer.String(), cert.NotAfter
	t.Names = slices.Clone(cert.DNSNames)
	for _, u := range cert.URIs {
		t.Names = append(t.Names, u.String())
	}
	for _, ip := range cert.IPAddresses {
		t.Names = append(t.Names, ip.String())
	}
	return t
}

// principal is the name of a principal.
func (s *service) principal(p any) string {
	if p == nil {
		return ""
	}
	if s.cfg.Principal != nil {
		return s.cfg.Principal(p)
	}
	switch p := p.(type) {
	case string:
		return p
	case fmt.Stringer:
		return p.String()
	}
	return fmt.Sprintf("a %T", p) // its fields may hold secrets
}
