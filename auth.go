package weft

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/weftrpc/weft/internal/session"
)

// Credential is a scheme (or tag), such as "Bearer" or "AppKey", and a token. Its token is hidden when it is printed or logged.
type Credential struct {
	Scheme string
	Token  string
}

// String shows the scheme and hides the token.
func (c Credential) String() string {
	if c == (Credential{}) {
		return "no credential"
	}
	return c.Scheme + " (hidden)"
}

// Format hides the token from every verb of package fmt.
func (c Credential) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// LogValue hides the token from a logger.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText hides the token from encoders such as encoding/json, which a logger uses for what a credential is part of.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c Credential) encode() string {
	if c.Scheme == "" && !strings.Contains(c.Token, " ") {
		return c.Token
	}
	return c.Scheme + " " + c.Token
}

func parseCredential(s string) Credential {
	scheme, token, ok := strings.Cut(s, " ")
	if !ok {
		return Credential{Token: s}
	}
	return Credential{Scheme: scheme, Token: token}
}

// StaticCredential returns a function for ClientConfig.Credential that gives every call the same credential.
func StaticCredential(scheme, token string) func(context.Context, string) (Credential, error) {
	return func(context.Context, string) (Credential, error) { return Credential{scheme, token}, nil }
}

// PrincipalFrom returns, in a handler, the principal of the caller: what the server's
// Authenticate returned, or else its AuthenticateConn; nil when there is neither.
func PrincipalFrom(ctx context.Context) any {
	if c := session.FromContext(ctx); c != nil {
		if p := c.Principal(); p != nil {
			return p
		}
		if p := peerOf(c); p != nil {
			return p.principal
		}
	}
	return nil
}
