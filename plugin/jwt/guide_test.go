package jwt_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/jwt"
)

// The code of docs/guide/authentication.md.
func TestGuide(t *testing.T) {
	i, ctx := newIssuer(t), t.Context()
	address, client, path := i.URL, i.Client(), filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(path, []byte(i.token(t, claims("ada", map[string]any{"exp": time.Now().Add(time.Hour).Unix()}))), 0o600))

	v, err := jwt.NewVerifier(ctx, &jwt.Config{
		Issuers: []jwt.Issuer{{
			Name: "https://id.example.org",
			Keys: jwt.URL(address, client), // or jwt.File
		}},
		Audience: []string{"orders"},
	})
	must(t, err)
	defer v.Close()
	config := &weft.ServerConfig{Authenticate: v.Authenticate}

	addr := plugintest.Serve(t, config).Addr
	tokens, err := jwt.NewTokens(&jwt.TokensConfig{Fetch: jwt.TokenFile(path)}) // or jwt.ClientCredentials
	must(t, err)
	defer tokens.Close()
	c, err := weft.Dial(ctx, addr, &weft.ClientConfig{
		Credential: tokens.Credential,
		Plugins:    []weft.Plugin{tokens.Plugin()},
	})
	must(t, err)
	defer c.Close()
	must(t, c.Call(ctx, "Arith.Mul", &plugintest.Args{}, nil))
}
