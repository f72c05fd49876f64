package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/jwt"
)

// tokens is the plugin that authenticates callers, and what it is compared with: a function that looks at nothing.
func tokens() ([]setup, error) {
	secret := make([]byte, 32)
	rand.Read(secret) // it does not fail
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		return nil, err
	}
	const issuer = "https://id.example.org"
	token, err := josejwt.Signed(signer).Claims(map[string]any{"iss": issuer, "sub": "ada", "exp": time.Now().Add(24 * time.Hour).Unix()}).Serialize()
	if err != nil {
		return nil, err
	}
	keys, err := json.Marshal(map[string]any{"keys": []any{map[string]string{"kty": "oct", "kid": "one", "k": base64.RawURLEncoding.EncodeToString(secret)}}})
	if err != nil {
		return nil, err
	}
	v, err := jwt.NewVerifier(context.Background(), &jwt.Config{AnyAudience: true, Algorithms: []string{"HS256"}, Logger: slog.New(slog.DiscardHandler),
		Issuers: []jwt.Issuer{{Name: issuer, Keys: func(context.Context) ([]byte, error) { return keys, nil }}}})
	if err != nil {
		return nil, err
	}
	with := func(authenticate func(context.Context, weft.Credential, *weft.CallInfo) (any, error)) func(*weft.ServerConfig, *weft.ClientConfig) {
		return func(on *weft.ServerConfig, at *weft.ClientConfig) {
			on.Authenticate, at.Credential = authenticate, weft.StaticCredential("Bearer", token)
		}
	}
	ada := func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "ada", nil }
	return []setup{
		{name: "no plugin, with a token that is not looked at", bare: true, change: with(ada)},
		{name: "jwt", change: with(v.Authenticate), end: v.Close},
	}, nil
}
