package jwt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/jwt"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: hello, ada
}

func example(ctx context.Context) error {
	// What an issuer does: its keys in a file, and a token.
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, secret := filepath.Join(dir, "keys.json"), []byte("0123456789abcdef0123456789abcdef")
	keys := `{"keys":[{"kty":"oct","kid":"1","alg":"HS256","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}`
	if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
		return err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		return err
	}
	mint := func(context.Context) (jwt.Token, error) {
		claims := josejwt.Claims{Issuer: "https://id.example.org", Subject: "ada", Audience: []string{"greeter"}, Expiry: josejwt.NewNumericDate(time.Now().Add(time.Hour))}
		token, err := josejwt.Signed(signer).Claims(claims).Serialize()
		return jwt.Token{Value: token}, err
	}

	v, err := jwt.NewVerifier(ctx, &jwt.Config{Issuers: []jwt.Issuer{{Name: "https://id.example.org", Keys: jwt.File(file)}}, Audience: []string{"greeter"},
		Algorithms: []string{"HS256"}})
	if err != nil {
		return err
	}
	defer v.Close()
	srv := weft.NewServer(&weft.ServerConfig{Authenticate: v.Authenticate})
	if err := weft.Handle(srv, "Greeter.Hello", func(ctx context.Context, _ *string) (*string, error) {
		hello := "hello, " + jwt.From(ctx).Subject
		return &hello, nil
	}); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	tokens, err := jwt.NewTokens(&jwt.TokensConfig{Fetch: mint})
	if err != nil {
		return err
	}
	defer tokens.Close()
	c, err := weft.Dial(ctx, l.Addr().String(), &weft.ClientConfig{Credential: tokens.Credential, Plugins: []weft.Plugin{tokens.Plugin()}})
	if err != nil {
		return err
	}
	defer c.Close()
	hello, err := weft.Invoke[string](ctx, c, "Greeter.Hello", new(string))
	if err != nil {
		return err
	}
	fmt.Println(*hello)
	return nil
}
