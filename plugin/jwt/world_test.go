package jwt_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft/plugin/jwt"
)

const (
	issuerName = "https://id.example.org"
	audience   = "orders"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// issuer makes tokens and publishes its keys.
type issuer struct {
	*httptest.Server

	mu      sync.Mutex
	fetches int
	fail    bool
	answer  []byte // in place of the keys
	kid     string
	keys    map[string]*ecdsa.PrivateKey
	more    []jose.JSONWebKey
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{keys: make(map[string]*ecdsa.PrivateKey)}
	i.rotate(t, "one")
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// rotate makes a new key, with which tokens are signed from then on; the old ones stay published.
func (i *issuer) rotate(t testing.TB, kid string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kid, i.keys[kid] = kid, key
}

func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetches++
	if i.fail {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if i.answer != nil {
		_, _ = w.Write(i.answer)
		return
	}
	_ = json.NewEncoder(w).Encode(i.setLocked())
}

func (i *issuer) setLocked() jose.JSONWebKeySet {
	set := jose.JSONWebKeySet{Keys: i.more}
	for kid, key := range i.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: kid, Algorithm: "ES256", Use: "sig"})
	}
	return set
}

// claims are those of a good token, with changes; nil removes one.
func claims(subject string, changes map[string]any) map[string]any {
	c := map[string]any{"iss": issuerName, "sub": subject, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "scope": "read write"}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// token is a token with the issuer's key.
func (i *issuer) token(t testing.TB, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	kid, key := i.kid, i.keys[i.kid]
	i.mu.Unlock()
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: key}, kid, claims)
}

func sign(t testing.TB, key jose.SigningKey, kid string, claims map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	s, err := jose.NewSigner(key, options)
	must(t, err)
	token, err := josejwt.Signed(s).Claims(claims).Serialize()
	must(t, err)
	return token
}

// config is that of a verifier of the issuer's tokens.
func (i *issuer) config() *jwt.Config {
	return &jwt.Config{Issuers: []jwt.Issuer{{Name: issuerName, Keys: jwt.URL(i.URL, i.Client())}}, Audience: []string{audience},
		Refetch: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
}

// verifier makes a verifier.
func verifier(t testing.TB, cfg *jwt.Config) *jwt.Verifier {
	t.Helper()
	v, err := jwt.NewVerifier(t.Context(), cfg)
	must(t, err)
	t.Cleanup(v.Close)
	return v
}

// tokens makes Tokens of a function.
func tokens(t testing.TB, fetch func(context.Context) (jwt.Token, error)) *jwt.Tokens {
	t.Helper()
	tokens, err := jwt.NewTokens(&jwt.TokensConfig{Fetch: fetch, Retry: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(tokens.Close)
	return tokens
}
