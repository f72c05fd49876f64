package jwt_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/jwt"
)

// refused checks the reason of a refusal; "" means that the token is accepted.
func refused(t *testing.T, v *jwt.Verifier, what, token, reason string) {
	t.Helper()
	_, err := v.Verify(t.Context(), token)
	e, _ := errors.AsType[*weft.Error](err)
	switch {
	case reason == "" && err == nil:
	case reason == "" || e == nil || e.Reason != reason || reason != jwt.ReasonNoKeys && e.Code != weft.Unauthenticated:
		t.Errorf("%s: %v, want %q", what, err, reason)
	}
}

func TestVerify(t *testing.T) {
	i := newIssuer(t)
	v := verifier(t, i.config())
	hour := time.Now().Add(time.Hour).Unix()
	for what, c := range map[string]struct {
		changes map[string]any
		reason  string
	}{
		"good":                      {nil, ""},
		"several audiences":         {map[string]any{"aud": []string{"x", audience}}, ""},
		"within the leeway":         {map[string]any{"exp": time.Now().Add(-5 * time.Second).Unix()}, ""},
		"not quite valid yet":       {map[string]any{"nbf": time.Now().Add(5 * time.Second).Unix()}, ""},
		"another issuer":            {map[string]any{"iss": "https://evil.example.org"}, jwt.ReasonInvalid},
		"no issuer":                 {map[string]any{"iss": nil}, jwt.ReasonInvalid},
		"another audience":          {map[string]any{"aud": "billing"}, jwt.ReasonInvalid},
		"no audience":               {map[string]any{"aud": nil}, jwt.ReasonInvalid},
		"expired":                   {map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, jwt.ReasonExpired},
		"without expiry":            {map[string]any{"exp": nil}, jwt.ReasonInvalid},
		"not valid yet":             {map[string]any{"nbf": hour}, jwt.ReasonInvalid},
		"a claim of the wrong type": {map[string]any{"sub": 7}, jwt.ReasonInvalid},
	} {
		for range 2 { // the second time it may be known
			refused(t, v, what, i.token(t, claims("ada", c.changes)), c.reason)
		}
	}

	good := i.token(t, claims("ada", nil))
	parts := strings.Split(good, ".")
	public, err := json.Marshal(i.keys["one"].Public())
	must(t, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for what, token := range map[string]string{
		"empty":                 "",
		"not a token":           "x.y.z",
		"without its signature": parts[0] + "." + parts[1] + ".",
		"with another's claims": parts[0] + "." + strings.Split(i.token(t, claims("eve", nil)), ".")[1] + "." + parts[2],
		"unsigned":              none + "." + parts[1] + ".",
		"an HMAC by the public key": sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, "one",
			claims("ada", nil)),
		"another key's":           sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: other}, "one", claims("ada", nil)),
		"an unknown key's":        sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: other}, "two", claims("ada", nil)),
		"an algorithm not listed": sign(t, jose.SigningKey{Algorithm: jose.RS512, Key: other}, "one", claims("ada", nil)),
		"too long":                i.token(t, claims(strings.Repeat("a", jwt.MaxToken), nil)),
	} {
		refused(t, v, what, token, jwt.ReasonInvalid)
	}
	refused(t, v, "without the id of a key", sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["one"]}, "", claims("ada", nil)), "")
}

func TestOptions(t *testing.T) {
	i := newIssuer(t)
	secret := []byte("0123456789abcdef0123456789abcdef")
	i.more = []jose.JSONWebKey{{Key: secret, KeyID: "hmac"}, {Key: []byte("short"), KeyID: "short"}}
	cfg := i.config()
	cfg.Audience, cfg.AnyAudience, cfg.NoExpiry, cfg.Leeway = nil, true, true, -1
	cfg.Algorithms, cfg.Types = []string{"HS256"}, []string{"at+jwt", "jwt"}
	cfg.Issuers = append(cfg.Issuers, jwt.Issuer{Name: "other", Keys: cfg.Issuers[0].Keys})
	v := verifier(t, cfg)
	p, err := v.Verify(t.Context(), sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "hmac", claims("ada", map[string]any{"aud": nil, "exp": nil, "scope": nil, "scp": []string{"a", "b"}})))
	if err != nil || p.String() != issuerName+" ada" || !p.HasScope("b") || p.HasScope("c") || !p.Expires.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	refused(t, v, "ES256, which is not listed", i.token(t, claims("ada", nil)), jwt.ReasonInvalid)
	refused(t, v, "a key that is too short", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "short", claims("ada", nil)), jwt.ReasonInvalid)
	cfg.Types, cfg.MaxTokens, cfg.Name = []string{"at+jwt"}, -1, func(p *jwt.Principal) string { return p.Subject + "!" }
	refused(t, verifier(t, cfg), "of another type", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "hmac", claims("ada", nil)), jwt.ReasonInvalid)
	cfg.Types = nil
	if p, err := verifier(t, cfg).Verify(t.Context(), sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "hmac", claims("ada", nil))); err != nil || p.String() != "ada!" {
		t.Error(p, err)
	}
}

// A token with a new key is accepted as soon as the issuer has published the key; a key that is gone
// verifies no more; and keys that cannot be fetched, or are none, leave the last ones in place.
func TestRotation(t *testing.T) {
	i := newIssuer(t)
	cfg := i.config()
	cfg.Refetch = time.Nanosecond
	v := verifier(t, cfg)
	before := i.token(t, claims("ada", nil))
	refused(t, v, "before", before, "")
	i.rotate(t, "two")
	after := i.token(t, claims("ada", nil))
	refused(t, v, "after", after, "")
	refused(t, v, "the old key is still published", before, "")
	for what, change := range map[string]func(){
		"an error": func() { i.fail = true }, "no JSON": func() { i.fail, i.answer = false, []byte("x") },
		"no keys": func() { i.answer = []byte(`{"keys":[]}`) }, "keys of an unknown type": func() { i.answer = []byte(`{"keys":[{"kty":"XYZ"}]}`) },
	} {
		i.set(change)
		refused(t, v, what, sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["two"]}, "three", claims("ada", nil)), jwt.ReasonInvalid)
		refused(t, v, what+", a known key", i.token(t, claims("bob", nil)), "")
	}
	i.set(func() { i.fail, i.answer = false, nil; delete(i.keys, "one") })
	refused(t, v, "makes it fetch", sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["two"]}, "four", claims("ada", nil)), jwt.ReasonInvalid)
	refused(t, v, "a key that is gone, also of a known token", before, jwt.ReasonInvalid)
	refused(t, v, "the key that stays", after, "")
}

// Tokens with unknown keys cause one fetch in a time, and do not wait when there was one.
func TestUnknownKeys(t *testing.T) {
	i := newIssuer(t)
	cfg := i.config()
	cfg.Refetch = time.Hour
	v := verifier(t, cfg)
	token := sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["one"]}, "unknown", claims("ada", nil))
	for range 20 {
		refused(t, v, "unknown", token, jwt.ReasonInvalid)
	}
	if n := i.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// The keys are fetched from time to time; a failure is tried again sooner.
func TestRefresh(t *testing.T) {
	i := newIssuer(t)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Duration
		began := time.Now()
		fail := false
		keys := func(context.Context) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			if fail {
				return nil, errors.New("down")
			}
			return json.Marshal(i.setLocked())
		}
		cfg := &jwt.Config{Issuers: []jwt.Issuer{{Name: issuerName, Keys: keys}}, Audience: []string{audience}, Refresh: time.Hour, Refetch: time.Minute,
			StartWithoutKeys: true, Logger: slog.New(slog.DiscardHandler)}
		fail = true
		v, err := jwt.NewVerifier(t.Context(), cfg)
		must(t, err)
		defer v.Close()
		token := i.token(t, claims("ada", map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()}))
		refused(t, v, "without keys", token, jwt.ReasonNoKeys)
		mu.Lock()
		fail = false
		mu.Unlock()
		time.Sleep(2*time.Hour + 2*time.Minute)
		synctest.Wait()
		refused(t, v, "with keys", token, "")
		mu.Lock()
		defer mu.Unlock()
		if len(at) != 4 || at[1] != time.Minute || at[3] != 2*time.Hour+time.Minute {
			t.Errorf("fetched at %v", at)
		}
	})
}

func TestFile(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "keys.json")
	cfg := i.config()
	cfg.Issuers[0].Keys = jwt.File(path)
	if _, err := jwt.NewVerifier(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without the file: %v", err)
	}
	b, err := json.Marshal(i.setLocked())
	must(t, err)
	must(t, os.WriteFile(path, b, 0o600))
	refused(t, verifier(t, cfg), "with keys in a file", i.token(t, claims("ada", nil)), "")
	must(t, os.WriteFile(path, make([]byte, 2<<20), 0o600))
	if _, err := jwt.NewVerifier(t.Context(), cfg); err == nil {
		t.Error("a file of 2 MiB is read")
	}
}

// The keys of an issuer verify the tokens of that issuer alone, and the keys of one that cannot be
// fetched do not matter to the others.
func TestIssuers(t *testing.T) {
	ada, eve := newIssuer(t), newIssuer(t)
	const other = "https://other.example.org"
	cfg := ada.config()
	cfg.Issuers = append(cfg.Issuers, jwt.Issuer{Name: other, Keys: jwt.URL(eve.URL, eve.Client())})
	v := verifier(t, cfg)
	theirs := claims("eve", map[string]any{"iss": other})
	for range 2 { // the second time they may be known
		refused(t, v, "a token of the first", ada.token(t, claims("ada", nil)), "")
		refused(t, v, "a token of the second", eve.token(t, theirs), "")
		refused(t, v, "a token in the name of the first with a key of the second", eve.token(t, claims("ada", nil)), jwt.ReasonInvalid)
		refused(t, v, "a token in the name of the second with a key of the first", ada.token(t, theirs), jwt.ReasonInvalid)
		refused(t, v, "a token of neither", eve.token(t, claims("eve", map[string]any{"iss": "https://third.example.org"})), jwt.ReasonInvalid)
	}
	if p, err := v.Verify(t.Context(), eve.token(t, theirs)); err != nil || p.String() != other+" eve" {
		t.Error(p, err)
	}

	eve.set(func() { eve.fail = true })
	if _, err := jwt.NewVerifier(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("without the keys of the second: %v", err)
	}
	cfg.StartWithoutKeys = true
	v = verifier(t, cfg)
	refused(t, v, "a token of the first, without the keys of the second", ada.token(t, claims("ada", nil)), "")
	refused(t, v, "a token of the second, without its keys", eve.token(t, theirs), jwt.ReasonNoKeys)
}

func TestWrongConfig(t *testing.T) {
	of := func(keys func(context.Context) ([]byte, error)) []jwt.Issuer {
		return []jwt.Issuer{{Name: "x", Keys: keys}}
	}
	keys := jwt.File("x")
	for what, cfg := range map[string]*jwt.Config{
		"nil": nil, "no issuer": {AnyAudience: true}, "no keys": {Issuers: of(nil), AnyAudience: true},
		"no name":           {Issuers: []jwt.Issuer{{Keys: keys}}, AnyAudience: true},
		"a name twice":      {Issuers: append(of(keys), of(keys)...), AnyAudience: true},
		"no audience":       {Issuers: of(keys)},
		"no such algorithm": {Issuers: of(keys), AnyAudience: true, Algorithms: []string{"none"}},
		"a time below zero": {Issuers: of(keys), AnyAudience: true, Refresh: -1},
		"plaintext":         {Issuers: of(jwt.URL("http://id.example.org/keys", nil)), AnyAudience: true},
		"no URL":            {Issuers: of(jwt.URL("id.example.org", nil)), AnyAudience: true},
		"a file of no keys": {Issuers: of(jwt.File("/dev/null")), AnyAudience: true},
		"no file":           {Issuers: of(jwt.File("/nowhere")), AnyAudience: true},
		"keys of half a bit": {Issuers: of(func(context.Context) ([]byte, error) {
			return []byte(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]}`), nil
		}), AnyAudience: true, Logger: slog.New(slog.DiscardHandler)},
	} {
		if v, err := jwt.NewVerifier(t.Context(), cfg); err == nil {
			v.Close()
			t.Errorf("%s: it is accepted", what)
		}
	}
}
