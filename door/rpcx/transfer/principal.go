package transfer

import (
	"context"
	"reflect"

	"github.com/weftrpc/weft"
)

// A second connection is admitted with the credential of the call that asked for it, for a door does not learn that of the connection of
// the call. The handler must not run for another principal than the one that got the token.
//
// A client whose connection alone has a credential gets no token. To take over the principal of its connection would leave out
// AuthenticateConn, which is asked about each connection and may refuse one by its address or for want of TLS; to ask it with the credential
// of the first connection, the server would have to keep the credentials of all connections in memory for as long as they live.

// admissible returns an error if the connection of a call has a principal that the second connection would not get.
func admissible(ctx context.Context) error {
	p := weft.PeerFrom(ctx)
	if p == nil || p.Principal() == nil || credentialOf(weft.MetadataFrom(ctx)) != (weft.Credential{}) {
		return nil
	}
	if state := p.TLS(); state != nil && len(state.PeerCertificates) > 0 {
		return nil // the second connection shows a certificate too; see samePrincipal
	}
	return weft.Errorf(weft.FailedPrecondition, "the connection has a principal and the call no credential, with which its second connection would be admitted: have the client send one with each call (ClientConfig.Credential) that AuthenticateConn of the server takes")
}

// samePrincipal returns an error if a second connection without a credential was admitted as another principal than the connection
// whose call asked for it.
func (k *ticket) samePrincipal(second *weft.Peer) error {
	if k.peer == nil || credentialOf(k.meta) != (weft.Credential{}) || reflect.DeepEqual(k.peer.Principal(), second.Principal()) {
		return nil
	}
	return weft.Errorf(weft.PermissionDenied, "AuthenticateConn has returned another principal for a second connection than for the connection whose call asked for it: have the client send a credential with each call (ClientConfig.Credential)")
}
