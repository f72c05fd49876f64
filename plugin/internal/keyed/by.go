package keyed

import (
	"context"
	"net"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// By says which calls are counted together.
type By string

// What calls can be counted by.
const (
	Server    By = "server"    // all calls together
	Service   By = "service"   // the calls of each service
	Method    By = "method"    // the calls of each method
	Principal By = "principal" // the calls of each principal; those without a name together
	Address   By = "address"   // the calls from each IP address, whatever the port; of IPv6 from each /64
)

// known reports whether it is one of them.
func (b By) known() bool {
	switch b {
	case Server, Service, Method, Principal, Address:
		return true
	}
	return false
}

// Of is the key that a call is counted under.
func (b By) Of(ctx context.Context, info *weft.CallInfo) string {
	switch b {
	case Service:
		return match.Service(info.Method)
	case Method:
		return info.Method
	case Principal:
		name, _ := match.Principal(weft.PrincipalFrom(ctx))
		return name
	case Address:
		return addressOf(info.Peer.Addr())
	}
	return ""
}

// addressOf is the address of a peer as one key. Of IPv6 it is the /64, since a host has all
// addresses of its own.
func addressOf(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		host, _, err := net.SplitHostPort(a.String())
		if err != nil {
			return a.String()
		}
		return host
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	p, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return p.String()
}
