package jwt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/jwt"
)

// A token is fetched before it is needed, once for all callers, and a failure is noticed only when the
// last one has expired.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		fetches, fail := 0, false
		tokens, err := jwt.NewTokens(&jwt.TokensConfig{Early: 10 * time.Minute, Retry: time.Minute, Logger: slog.New(slog.DiscardHandler),
			Fetch: func(context.Context) (jwt.Token, error) {
				mu.Lock()
				defer mu.Unlock()
				time.Sleep(time.Second)
				if fetches++; fail {
					return jwt.Token{}, errors.New("down")
				}
				return jwt.Token{Value: fmt.Sprint("token", fetches), Expires: time.Now().Add(time.Hour)}, nil
			}})
		must(t, err)
		defer tokens.Close()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { is(t, tokens, "token1") })
		}
		wg.Wait()
		time.Sleep(49 * time.Minute)
		is(t, tokens, "token1")
		time.Sleep(2 * time.Minute)
		is(t, tokens, "token1") // and the next one is fetched
		time.Sleep(2 * time.Second)
		is(t, tokens, "token2")
		mu.Lock()
		fail = true
		mu.Unlock()
		time.Sleep(55 * time.Minute)
		is(t, tokens, "token2")
		time.Sleep(2 * time.Second)
		is(t, tokens, "token2")
		time.Sleep(10 * time.Minute)
		for range 3 { // the first one tries
			if _, err := tokens.Token(t.Context()); !errors.Is(err, weft.Unavailable) {
				t.Error(err)
			}
		}
		mu.Lock()
		fail = false
		if fetches != 4 {
			t.Errorf("%d fetches", fetches)
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := tokens.Token(ctx); !errors.Is(err, weft.DeadlineExceeded) {
			t.Error(err)
		}
		is(t, tokens, "token5")
		tokens.Close()
		is(t, tokens, "token5")
		time.Sleep(2 * time.Hour)
		if _, err := tokens.Token(t.Context()); !errors.Is(err, weft.Canceled) {
			t.Error(err)
		}
	})
}

func is(t *testing.T, tokens *jwt.Tokens, want string) {
	t.Helper()
	if got, err := tokens.Token(t.Context()); got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestTokenFile(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "token")
	fetch := jwt.TokenFile(path)
	if _, err := fetch(t.Context()); err == nil {
		t.Error("a file that is not there gives a token")
	}
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	token := i.token(t, claims("ada", map[string]any{"exp": expires.Unix()}))
	must(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	if got, err := fetch(t.Context()); err != nil || got.Value != token || !got.Expires.Equal(expires) {
		t.Error(got, err)
	}
	must(t, os.WriteFile(path, []byte("opaque"), 0o600))
	if got, err := fetch(t.Context()); err != nil || got.Value != "opaque" || time.Until(got.Expires) > time.Minute {
		t.Error(got, err)
	}
}

func TestClientCredentials(t *testing.T) {
	var answer string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.ParseForm() != nil || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("scope") != "read write" || r.Form.Get("audience") != audience || id != "me%3A" || secret != "hush" {
			http.Error(w, "wrong", http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer srv.Close()
	cfg := jwt.ClientCredentialsConfig{URL: srv.URL, ID: "me:", Secret: "hush", Scopes: []string{"read", "write"}, Audience: audience, Client: srv.Client()}
	answer = `{"access_token":"abc","token_type":"Bearer","expires_in":60}`
	if got, err := jwt.ClientCredentials(cfg)(t.Context()); err != nil || got.Value != "abc" || time.Until(got.Expires) > time.Minute || time.Until(got.Expires) < 30*time.Second {
		t.Error(got, err)
	}
	for _, answer = range []string{"", `{}`, `{"access_token":"abc","token_type":"mac"}`, strings.Repeat(" ", 2<<20)} {
		if _, err := jwt.ClientCredentials(cfg)(t.Context()); err == nil {
			t.Errorf("the answer %.30q gives a token", answer)
		}
	}
	cfg.Secret = "wrong"
	if _, err := jwt.ClientCredentials(cfg)(t.Context()); err == nil || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
	cfg.URL = "http://id.example.org/token"
	if _, err := jwt.ClientCredentials(cfg)(t.Context()); err == nil {
		t.Error("a secret is sent in plaintext")
	}
}

func TestWrongTokens(t *testing.T) {
	for _, cfg := range []*jwt.TokensConfig{nil, {}, {Fetch: jwt.TokenFile("x"), Early: -1}} {
		if _, err := jwt.NewTokens(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	for _, token := range []jwt.Token{{}, {Value: "a b"}, {Value: "a", Expires: time.Now().Add(-time.Second)}} {
		source := tokens(t, func(context.Context) (jwt.Token, error) { return token, nil })
		if _, err := source.Token(t.Context()); err == nil {
			t.Errorf("%+v is accepted", token)
		}
	}
}
