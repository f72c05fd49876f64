package tls

import (
	"crypto/tls"
	"strings"
)

// PeerIdentity returns the names a verified peer goes by: the URIs, for example
// "spiffe://example.org/orders", then the DNS names, in lower case, of the subject
// alternative names of its certificate. It never uses the common name.
//
// It returns nil for a peer without a certificate, and for one whose certificate
// was not verified. A name that could be mistaken for one of the other kind (a URI
// without a scheme, a DNS name with other than letters, digits, '-', '_', '.' and
// '*') is left out.
func PeerIdentity(state tls.ConnectionState) []string {
	if len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	var names []string
	for _, u := range leaf.URIs {
		if u.IsAbs() {
			names = append(names, u.String())
		}
	}
	for _, d := range leaf.DNSNames {
		if isDNSName(d) {
			names = append(names, strings.ToLower(d))
		}
	}
	return names
}

func isDNSName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == '*':
		default:
			return false
		}
	}
	return s != ""
}
