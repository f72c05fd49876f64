// Package jwt authenticates callers by JSON Web Tokens (RFC 7519), and gives clients tokens that are
// refreshed in time.
//
// A server takes bearer tokens of one or more issuers. The keys of each come from a JSON Web Key Set, in
// a file or at a URL, and are fetched again from time to time and when a token names a key that is not
// known yet:
//
//	v, err := jwt.NewVerifier(ctx, &jwt.Config{
//		Issuers:  []jwt.Issuer{{Name: "https://id.example.org", Keys: jwt.URL("https://id.example.org/jwks.json", nil)}},
//		Audience: []string{"orders"},
//	})
//	defer v.Close()
//	srv := weft.NewServer(&weft.ServerConfig{Authenticate: v.Authenticate})
//
// The principal of a call is a *[Principal], whose name is its subject: the plugins acl, ratelimit,
// quota and accesslog use it. [From] has the claims in a handler. Tokens come in over every wire:
// with weft.ClientConfig.Credential over weft's own, in the header Authorization over gRPC and HTTP.
//
// A client gets its tokens from [Tokens]:
//
//	t, err := jwt.NewTokens(&jwt.TokensConfig{Fetch: jwt.TokenFile("/var/run/secrets/tokens/orders")})
//	defer t.Close()
//	c, err := weft.Dial(ctx, addr, &weft.ClientConfig{Credential: t.Credential, Plugins: []weft.Plugin{t.Plugin()}})
package jwt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// The values of Error.Reason of a call that is refused.
const (
	ReasonMissing = "TOKEN_MISSING" // there is no bearer token
	ReasonInvalid = "TOKEN_INVALID" // it is malformed, wrongly signed, or of another issuer or audience
	ReasonExpired = "TOKEN_EXPIRED" // a new token can help
	ReasonNoKeys  = "TOKEN_NO_KEYS" // the keys could not be fetched yet
)

// The defaults of a Config.
const (
	DefaultLeeway    = 30 * time.Second
	DefaultRefresh   = 5 * time.Minute
	DefaultRefetch   = 10 * time.Second
	DefaultMaxTokens = 4096
	// MaxToken is how many bytes a token may have.
	MaxToken = 8 << 10
)

// Config configures a Verifier.
type Config struct {
	// Issuers are those whose tokens are accepted, each with keys of its own. It must not be empty.
	Issuers []Issuer
	// Audience are the values of the claim aud that are accepted: a token must have one of them. It
	// must not be empty, unless AnyAudience is set.
	Audience []string
	// AnyAudience accepts tokens for every audience, that is also those which their owners have given
	// to other servers.
	AnyAudience bool
	// Algorithms are the signatures that are accepted, by their names in RFC 7518 and RFC 8037. nil:
	// RS256, PS256, ES256 and EdDSA. HS256, HS384 and HS512, whose keys can also make tokens, are
	// accepted only where they are named.
	Algorithms []string
	// Types are the values of the header typ that are accepted, such as "at+jwt". nil: any.
	Types []string
	// Leeway is by how much the clocks of issuer and server may differ. 0: DefaultLeeway; below zero:
	// not at all.
	Leeway time.Duration
	// NoExpiry accepts tokens without the claim exp, which are good for as long as their key is.
	NoExpiry bool
	// Name is the name of a principal, for other plugins and for logs. nil: the subject, and behind
	// the issuer and a space when Issuers has more than one.
	Name func(*Principal) string

	// Refresh is how often the keys are fetched. When that fails, the last ones stay. 0:
	// DefaultRefresh.
	Refresh time.Duration
	// Refetch is the least time between two fetches that tokens with unknown keys cause. 0:
	// DefaultRefetch.
	Refetch time.Duration
	// StartWithoutKeys lets NewVerifier succeed when the keys cannot be fetched. Until they can be,
	// every call is refused with Unavailable.
	StartWithoutKeys bool
	// MaxTokens is of how many tokens the result is kept until they expire, so that a token is
	// verified once and not for every call. 0: DefaultMaxTokens; below zero: none.
	MaxTokens int

	// Logger gets what an operator should know: keys that could not be fetched, or not be read. nil:
	// warnings and errors go to slog.Default(). slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Issuer is one that makes tokens. A token that names it is accepted when a key of it has signed the
// token; the keys of other issuers do not count.
type Issuer struct {
	// Name is the claim iss of its tokens.
	Name string
	// Keys fetches a JSON Web Key Set (RFC 7517): File, URL, or a function of the program, which may be called again while it runs.
	Keys func(ctx context.Context) ([]byte, error)
}

// Verifier verifies tokens. Its methods may be called from any goroutine.
type Verifier struct {
	cfg   Config
	algs  []jose.SignatureAlgorithm
	keys  map[string]*keyring // by issuer; it is not changed
	known *known
}

// NewVerifier makes a Verifier and fetches the keys. It must be closed.
func NewVerifier(ctx context.Context, cfg *Config) (*Verifier, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	v := &Verifier{cfg: *cfg}
	c := &v.cfg
	wrong := func(format string, args ...any) (*Verifier, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "jwt: Config."+format, args...)
	}
	switch {
	case len(c.Issuers) == 0:
		return wrong("Issuers is empty: it must name the issuers of the tokens")
	case len(c.Audience) == 0 && !c.AnyAudience:
		return wrong("Audience is empty: it must name this server as the tokens do, or AnyAudience must be set")
	case c.Refresh < 0 || c.Refetch < 0:
		return wrong("Refresh is %v and Refetch %v, want 0 or more", c.Refresh, c.Refetch)
	}
	if c.Algorithms == nil {
		c.Algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
	}
	for _, name := range c.Algorithms {
		if !slices.Contains(algorithms(), name) {
			return wrong("Algorithms has %q, want some of %s", name, strings.Join(algorithms(), ", "))
		}
		v.algs = append(v.algs, jose.SignatureAlgorithm(name))
	}
	c.Audience = slices.Clone(c.Audience)
	c.Leeway = max(orDefault(c.Leeway, DefaultLeeway), 0)
	c.Refresh, c.Refetch = orDefault(c.Refresh, DefaultRefresh), orDefault(c.Refetch, DefaultRefetch)
	c.Logger = logger.OrDefault(c.Logger)
	if c.Name == nil {
		c.Name = v.name
	}
	if n := orDefault(c.MaxTokens, DefaultMaxTokens); n > 0 {
		v.known = newKnown(n)
	}
	v.keys = make(map[string]*keyring, len(c.Issuers))
	for i, issuer := range c.Issuers {
		switch {
		case issuer.Name == "":
			return wrong("Issuers[%d].Name is empty: it must be the claim iss of the tokens", i)
		case issuer.Keys == nil:
			return wrong("Issuers[%d].Keys is nil: it must fetch the keys of %s, as File and URL do", i, issuer.Name)
		case v.keys[issuer.Name] != nil:
			return wrong("Issuers[%d].Name is %q, as that of another issuer is", i, issuer.Name)
		}
		v.keys[issuer.Name] = newKeyring(c, issuer)
	}
	if err := v.start(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// start fetches the keys of all issuers, and begins to refresh them.
func (v *Verifier) start(ctx context.Context) error {
	for name, k := range v.keys {
		if err := k.refresh(ctx); err != nil {
			if !v.cfg.StartWithoutKeys {
				return weft.Errorf(weft.Unavailable, "jwt: fetch the keys of %s: %w", name, err)
			}
			v.cfg.Logger.Error("jwt: the keys of an issuer could not be fetched; calls with its tokens are refused until they can be", "issuer", name, "error", err)
		}
	}
	for _, k := range v.keys {
		k.start()
	}
	return nil
}

func orDefault[T comparable](v, normal T) T {
	var zero T
	if v == zero {
		return normal
	}
	return v
}

// algorithms are the signatures that can be accepted.
func algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"}
}

func (v *Verifier) name(p *Principal) string {
	if len(v.cfg.Issuers) > 1 && p.Subject != "" {
		return p.Issuer + " " + p.Subject
	}
	return p.Subject
}

// Close ends the refreshing of the keys.
func (v *Verifier) Close() {
	for _, k := range v.keys {
		k.close()
	}
}

// Authenticate is for ServerConfig.Authenticate: every call must have a token.
func (v *Verifier) Authenticate(ctx context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
	return v.principal(ctx, cred)
}

// AuthenticateConn is for ServerConfig.AuthenticateConn: every connection must have a token when it is
// opened. It is not closed when the token expires.
func (v *Verifier) AuthenticateConn(ctx context.Context, cred weft.Credential, _ *weft.Peer) (any, error) {
	return v.principal(ctx, cred)
}

// principal is an any that is nil after an error.
func (v *Verifier) principal(ctx context.Context, cred weft.Credential) (any, error) {
	if !strings.EqualFold(cred.Scheme, "Bearer") || cred.Token == "" {
		return nil, weft.Errorf(weft.Unauthenticated, "the call has no bearer token").WithReason(ReasonMissing)
	}
	p, err := v.Verify(ctx, cred.Token)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Verify verifies a token. It waits for new keys, for two seconds at most, when the token names a key
// that is not known.
func (v *Verifier) Verify(ctx context.Context, token string) (*Principal, error) {
	if len(token) > MaxToken {
		return nil, invalid("the token has %d bytes, more than %d", len(token), MaxToken)
	}
	now := time.Now()
	id := v.known.id(token)
	if p := v.known.get(id); p != nil {
		return p, v.inTime(p, now)
	}
	t, err := jwt.ParseSigned(token, v.algs)
	if err != nil {
		return nil, invalid("the token cannot be read, or its algorithm is not among %s: %v", strings.Join(v.cfg.Algorithms, ", "), err)
	}
	head := t.Headers[0]
	if typ, _ := head.ExtraHeaders[jose.HeaderType].(string); v.cfg.Types != nil && !slices.ContainsFunc(v.cfg.Types, func(s string) bool { return strings.EqualFold(s, typ) }) {
		return nil, invalid("the token is of the type %q, want %s", typ, strings.Join(v.cfg.Types, " or "))
	}
	var claims jwt.Claims
	if err := t.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return nil, invalid("the claims of the token cannot be read")
	}
	issuer := claims.Issuer
	ring := v.keys[issuer]
	if ring == nil {
		return nil, invalid("the issuer %q is not accepted", issuer)
	}
	keys, candidates := ring.find(ctx, head.KeyID, head.Algorithm)
	if keys == nil {
		return nil, weft.Errorf(weft.Unavailable, "the keys that tokens of %s are verified with could not be fetched", issuer).WithReason(ReasonNoKeys)
	}
	if len(candidates) == 0 {
		return nil, invalid("no key %q of %s for %s is known", head.KeyID, issuer, head.Algorithm)
	}
	claims = jwt.Claims{}
	var raw rawClaims
	for _, key := range candidates {
		if err = t.Claims(key.Key, &claims, &raw); err == nil {
			break
		}
	}
	if err != nil {
		return nil, invalid("the signature or the claims of the token are wrong")
	}
	p := &Principal{Subject: claims.Subject, Issuer: claims.Issuer, Audience: claims.Audience, ID: claims.ID, raw: raw}
	if claims.Expiry != nil {
		p.Expires = claims.Expiry.Time()
	}
	if claims.NotBefore != nil {
		p.notBefore = claims.NotBefore.Time()
	}
	if err := v.check(p, issuer); err != nil {
		return nil, err
	}
	if err := v.inTime(p, now); err != nil {
		return nil, err
	}
	p.name = v.cfg.Name(p)
	v.known.put(id, result{ring, keys, p})
	return p, nil
}

// check checks what does not change with time. The keys of issuer have verified the token.
func (v *Verifier) check(p *Principal, issuer string) error {
	switch {
	case p.Issuer != issuer:
		return invalid("the token is of the issuer %q and was verified with the keys of %q", p.Issuer, issuer)
	case !v.cfg.AnyAudience && !slices.ContainsFunc(p.Audience, func(a string) bool { return slices.Contains(v.cfg.Audience, a) }):
		return invalid("the token is for %q and not for this server", p.Audience)
	case p.Expires.IsZero() && !v.cfg.NoExpiry:
		return invalid("the token does not expire")
	}
	return nil
}

// inTime checks what does.
func (v *Verifier) inTime(p *Principal, now time.Time) error {
	switch {
	case !p.Expires.IsZero() && !now.Before(p.Expires.Add(v.cfg.Leeway)):
		return weft.Errorf(weft.Unauthenticated, "the token has expired").WithReason(ReasonExpired)
	case now.Add(v.cfg.Leeway).Before(p.notBefore):
		return invalid("the token is not valid yet")
	}
	return nil
}

func invalid(format string, args ...any) error {
	return weft.Errorf(weft.Unauthenticated, format, args...).WithReason(ReasonInvalid)
}

// rawClaims keeps the claims as they came.
type rawClaims []byte

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawClaims) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return errors.New("the claims are not an object")
	}
	*r = slices.Clone(b)
	return nil
}
