package jwt

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// TokenFile is for TokensConfig.Fetch: the token in a file that is replaced in time, such as a
// projected token of Kubernetes. With a token that does not say when it expires it is read again every
// minute.
func TokenFile(path string) func(context.Context) (Token, error) {
	return func(context.Context) (Token, error) {
		b, err := readFile(path)
		if err != nil {
			return Token{}, err
		}
		token := Token{Value: strings.TrimSpace(string(b))}
		if token.Expires = expiryOf(token.Value); token.Expires.IsZero() {
			token.Expires = time.Now().Add(time.Minute)
		}
		return token, nil
	}
}

// ClientCredentialsConfig is how a program gets tokens in its own name, by OAuth 2.0.
type ClientCredentialsConfig struct {
	URL      string       // of the token endpoint; of https, or of this machine
	ID       string       // of the client, as the issuer knows it
	Secret   string       // of the client; it is sent to URL alone
	Scopes   []string     // what the token is to allow; nil: what the issuer gives by itself
	Audience string       // the parameter audience, which some servers want; "": none
	Client   *http.Client // nil: one that follows no redirect away from https
}

// ClientCredentials is for TokensConfig.Fetch: the grant client_credentials (RFC 6749, section 4.4),
// with the client's id and secret in the header Authorization.
func ClientCredentials(cfg ClientCredentialsConfig) func(context.Context) (Token, error) {
	client := orSafe(cfg.Client)
	return func(ctx context.Context) (Token, error) {
		if err := checkURL(cfg.URL); err != nil {
			return Token{}, err
		}
		form := url.Values{"grant_type": {"client_credentials"}}
		if len(cfg.Scopes) > 0 {
			form.Set("scope", strings.Join(cfg.Scopes, " "))
		}
		if cfg.Audience != "" {
			form.Set("audience", cfg.Audience)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.URL, strings.NewReader(form.Encode()))
		if err != nil {
			return Token{}, err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Accept", "application/json")
		req.SetBasicAuth(url.QueryEscape(cfg.ID), url.QueryEscape(cfg.Secret))
		b, err := do(client, req)
		if err != nil {
			return Token{}, err
		}
		return answer(b)
	}
}

// answer reads what a token endpoint says.
func answer(b []byte) (Token, error) {
	var a struct {
		Token   string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Expires float64 `json:"expires_in"` // seconds
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return Token{}, fmt.Errorf("the answer of the token endpoint cannot be read: %w", err)
	}
	if a.Token == "" || !strings.EqualFold(a.Type, "bearer") {
		return Token{}, fmt.Errorf("the token endpoint gave no bearer token, but one of the type %q", a.Type)
	}
	token := Token{Value: a.Token}
	if a.Expires > 0 && a.Expires < 1e9 {
		token.Expires = time.Now().Add(time.Duration(a.Expires * float64(time.Second)))
	}
	return token, nil
}
