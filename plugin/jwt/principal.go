package jwt

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// Principal is the caller that a token names. It must not be changed.
type Principal struct {
	Subject  string    // the claim sub
	Issuer   string    // iss
	Audience []string  // aud
	Expires  time.Time // exp; a stream may go on beyond it
	ID       string    // jti

	notBefore time.Time
	name      string
	raw       []byte
}

// From is the principal of a call that a Verifier has authenticated; nil for others.
func From(ctx context.Context) *Principal {
	p, _ := weft.PrincipalFrom(ctx).(*Principal)
	return p
}

// String is the name of the principal, by Config.Name.
func (p *Principal) String() string { return p.name }

// Claims decodes all claims into a pointer, as encoding/json does.
func (p *Principal) Claims(into any) error {
	if err := json.Unmarshal(p.raw, into); err != nil {
		return weft.Errorf(weft.InvalidArgument, "jwt: the claims of %s: %w", p, err)
	}
	return nil
}

// Scopes are what the token allows: the words of the claim scope (RFC 8693), or the list scp.
func (p *Principal) Scopes() []string {
	var c struct {
		Scope string `json:"scope"`
	}
	if json.Unmarshal(p.raw, &c) == nil && c.Scope != "" {
		return strings.Fields(c.Scope)
	}
	var list struct {
		Scp []string `json:"scp"`
	}
	if json.Unmarshal(p.raw, &list) != nil {
		return nil
	}
	return list.Scp
}

// HasScope reports whether a scope is among Scopes.
func (p *Principal) HasScope(scope string) bool { return slices.Contains(p.Scopes(), scope) }
