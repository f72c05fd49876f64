package keyed

import (
	"context"

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

// Of is the key that a call is counted under. The name of a principal is asked for, which may run code of the program:
// no lock is held.
func (b By) Of(ctx context.Context, info *weft.CallInfo) Key {
	switch b {
	case Service:
		return keyOfName(match.Service(info.Method))
	case Method:
		return keyOfName(info.Method)
	case Principal:
		name, _ := match.Principal(weft.PrincipalFrom(ctx))
		return keyOfName(name)
	case Address:
		return keyOfAddress(info.Peer.Addr())
	}
	return Key{}
}
