package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/netip"
	"strings"

	"github.com/weftrpc/weft"
)

// CredentialKey is the metadata key of the credential for the service weft.Admin. A server
// with an Authenticate of its own has a credential for each of the two.
const CredentialKey = "admin-authorization"

// admit decides whether a caller may make a call.
func (s *service) admit(ctx context.Context, cred weft.Credential, info *weft.CallInfo) (any, error) {
	if s.cfg.ReadOnly && changes(info.Method) {
		return nil, weft.Errorf(weft.PermissionDenied, "%s is refused: Config.ReadOnly of package admin is set on this server", info.Method)
	}
	if own := weft.MetadataFrom(ctx).Get(CredentialKey); own != "" {
		scheme, token, ok := strings.Cut(own, " ")
		if !ok {
			scheme, token = "", own
		}
		cred = weft.Credential{Scheme: scheme, Token: token}
	}
	switch {
	case s.cfg.Authenticate != nil:
		return s.cfg.Authenticate(ctx, cred, info)
	case s.cfg.Token != "":
		return nil, checkToken(s.cfg.Token, cred)
	}
	return nil, local(ctx, info)
}

// changes tells whether a method changes something on the server.
func changes(method string) bool {
	return method == Service+".SetLogLevel" || method == Service+".Drain"
}

// checkToken compares a token with that of the configuration.
func checkToken(token string, cred weft.Credential) error {
	if cred == (weft.Credential{}) {
		return weft.Errorf(weft.Unauthenticated, "%s wants a token: send %q and the token as the credential of the call, or under the metadata key %s",
			Service, "Bearer", CredentialKey)
	}
	// Of the digests, so that the time says nothing about the token, not even its length.
	got, want := sha256.Sum256([]byte(cred.Token)), sha256.Sum256([]byte(token))
	if !strings.EqualFold(cred.Scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return weft.Errorf(weft.Unauthenticated, "%s: the token is not that of Config.Token on this server", Service)
	}
	return nil
}

// local accepts the calls that a server without Token and Authenticate answers.
func local(ctx context.Context, info *weft.CallInfo) error {
	const advice = "set Config.Token or Config.Authenticate of package admin on the server"
	p := info.Peer
	switch where := placeOf(p); {
	case where == elsewhere:
		return weft.Errorf(weft.PermissionDenied, "%s answers only callers on the same machine, and this call came from %v to %v: %s", Service, p.Addr(), p.LocalAddr(), advice)
	case forwarded(weft.MetadataFrom(ctx)):
		return weft.Errorf(weft.PermissionDenied, "%s answers only callers on the same machine, and a proxy has passed this call on: %s", Service, advice)
	case where == inside:
		return nil
	case p.Wire() == weft.WireHTTP && p.TLS() == nil:
		return weft.Errorf(weft.PermissionDenied, "%s does not answer plain HTTP without a credential, since any page in a browser on the machine can call it: %s", Service, advice)
	case changes(info.Method):
		return weft.Errorf(weft.PermissionDenied, "%s changes the server and needs a credential over TCP, since any user of the machine can call it: %s, or call it over a Unix socket",
			info.Method, advice)
	}
	return nil
}

// forwarded reports whether a proxy says that it has passed a call on: then the peer is the proxy, and the caller may be anywhere.
func forwarded(m weft.Metadata) bool {
	// Also where the first value is empty: a caller may send one in front of that of the proxy.
	return len(m.Values("x-forwarded-for"))+len(m.Values("forwarded"))+len(m.Values("via")) > 0
}

// place is where a peer is.
type place int

const (
	elsewhere place = iota
	loopback        // on this machine: any user of it
	inside          // connected by a Unix socket, or in this process
)

// placeOf tells where a peer is. Both ends of its connection must be loopback addresses: a proxy on the
// machine that passes the calls of others on, such as that of a service mesh, often comes from one and
// goes to the address of the machine.
func placeOf(p *weft.Peer) place {
	switch p.Addr().Network() {
	case "unix", "mem":
		return inside
	}
	from, to := ipOf(p.Addr()), ipOf(p.LocalAddr())
	// A listener of UDP may not know to which of its addresses a peer has sent.
	if from.IsLoopback() && (to.IsLoopback() || to.IsUnspecified()) {
		return loopback
	}
	return elsewhere
}

// ipOf is the IP address in an address; the zero Addr, which is no loopback address, for none.
func ipOf(a net.Addr) netip.Addr {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}
