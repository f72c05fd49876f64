package jwt_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft/plugin/jwt"
)

// A key set with keys that cannot or must not be used gives those that can, and a log of a bounded size.
func TestHostileKeySet(t *testing.T) {
	i := newIssuer(t)
	good, err := json.Marshal(i.setLocked().Keys[0])
	must(t, err)
	rsaKey := func(bits uint) string {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return `{"kty":"RSA","kid":"one","e":"AQAB","n":"` + base64.RawURLEncoding.EncodeToString(n.Add(n, big.NewInt(1)).Bytes()) + `"}`
	}
	long := strings.Repeat("k", 100_000)
	for what, key := range map[string]string{
		"a huge RSA key":        rsaKey(400_000),
		"a small RSA key":       rsaKey(1024),
		"a long kid":            strings.Replace(string(good), `"one"`, `"`+long+`"`, 1),
		"an unknown type":       `{"kty":"` + long + `"}`,
		"no type":               `{}`,
		"no object":             `7`,
		"nothing":               `null`,
		"a point off its curve": `{"kty":"EC","crv":"P-256","kid":"one","x":"AQ","y":"AQ"}`,
		"an unknown curve":      `{"kty":"EC","crv":"P-1","kid":"one","x":"AQ","y":"AQ"}`,
		"for encryption":        strings.Replace(string(good), `"sig"`, `"enc"`, 1),
		"a secret":              `{"kty":"oct","kid":"one","k":"` + base64.RawURLEncoding.EncodeToString(make([]byte, 32)) + `"}`,
	} {
		var log bytes.Buffer
		cfg := i.config()
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		all := strings.Repeat(key+",", 7)
		cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) { return []byte(`{"keys":[` + all + string(good) + `]}`), nil }
		v := verifier(t, cfg)
		refused(t, v, what+" beside a good one", i.token(t, claims("ada", nil)), "")
		refused(t, v, what+", an HMAC of it", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: make([]byte, 32)}, "one", claims("ada", nil)), jwt.ReasonInvalid)
		if log.Len() > 4000 {
			t.Errorf("%s: %d bytes are logged", what, log.Len())
		}
		cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) { return []byte(`{"keys":[` + key + `]}`), nil }
		if what == "a secret" {
			continue // which can be used where Algorithms names an HMAC
		}
		if v, err := jwt.NewVerifier(t.Context(), cfg); err == nil {
			v.Close()
			t.Errorf("%s alone is accepted", what)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", what, len(err.Error()))
		}
	}
	many := `{"keys":[` + strings.Repeat(string(good)+",", 300) + string(good) + `]}`
	cfg := i.config()
	cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) { return []byte(many), nil }
	if v, err := jwt.NewVerifier(t.Context(), cfg); err == nil {
		v.Close()
		t.Error("301 keys are accepted")
	}
}

// A token cannot bring its own key, nor extensions that must be understood.
func TestHostileToken(t *testing.T) {
	i := newIssuer(t)
	v := verifier(t, i.config())
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	for what, options := range map[string]*jose.SignerOptions{
		"its own key":                  {EmbedJWK: true},
		"its own key, and a known kid": (&jose.SignerOptions{EmbedJWK: true}).WithHeader("kid", "one"),
		"the address of its key":       (&jose.SignerOptions{}).WithHeader("jku", i.URL).WithHeader("kid", "one"),
	} {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: own}, options)
		must(t, err)
		token, err := josejwt.Signed(s).Claims(claims("eve", nil)).Serialize()
		must(t, err)
		refused(t, v, what, token, jwt.ReasonInvalid)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["one"]}, (&jose.SignerOptions{}).WithHeader("kid", "one").WithHeader("crit", []string{"x"}).WithHeader("x", 1))
	must(t, err)
	token, err := josejwt.Signed(s).Claims(claims("ada", nil)).Serialize()
	must(t, err)
	refused(t, v, "an extension that is critical", token, jwt.ReasonInvalid)
}

// While the keys cannot be fetched, since the issuer does not answer, tokens with known keys are verified at once, and
// those with unknown ones are refused within a bounded time.
func TestSlowKeys(t *testing.T) {
	i := newIssuer(t)
	set, err := json.Marshal(i.setLocked())
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		fetches := 0
		cfg := i.config()
		cfg.Refetch = time.Millisecond
		cfg.Issuers[0].Keys = func(ctx context.Context) ([]byte, error) {
			if fetches++; fetches == 1 {
				return set, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		v, err := jwt.NewVerifier(t.Context(), cfg)
		must(t, err)
		defer v.Close()
		time.Sleep(time.Second)
		began := time.Now()
		unknown := sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.keys["one"]}, "unknown", claims("ada", nil))
		done := make(chan struct{})
		for range 10 {
			go func() { // it ends with the verification
				refused(t, v, "an unknown key", unknown, jwt.ReasonInvalid)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		refused(t, v, "a known key", i.token(t, claims("ada", nil)), "")
		if took := time.Since(began); took != 0 {
			t.Errorf("a token with a known key took %v", took)
		}
		for range 10 {
			<-done
		}
		if took := time.Since(began); took > 3*time.Second || fetches > 2 {
			t.Errorf("tokens with unknown keys took %v and caused %d fetches", took, fetches)
		}
	})
}

// Keys that took long to come do not take the place of newer ones: a key that is gone stays so.
func TestOldKeysComeLate(t *testing.T) {
	i := newIssuer(t)
	old, err := json.Marshal(i.setLocked())
	must(t, err)
	gone := i.keys["one"]
	i.rotate(t, "two")
	delete(i.keys, "one")
	fresh, err := json.Marshal(i.setLocked())
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		var fetches atomic.Int32
		cfg := i.config()
		cfg.Refresh, cfg.Refetch = time.Second, 100*time.Millisecond
		cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) {
			switch fetches.Add(1) {
			case 1:
				return old, nil
			case 2: // it was asked before the keys were replaced
				time.Sleep(time.Second)
				return old, nil
			}
			return fresh, nil
		}
		began := time.Now()
		v, err := jwt.NewVerifier(t.Context(), cfg)
		must(t, err)
		defer v.Close()
		time.Sleep(1500 * time.Millisecond)
		refused(t, v, "a new key", i.token(t, claims("ada", nil)), "")
		time.Sleep(time.Until(began.Add(2100 * time.Millisecond)))
		refused(t, v, "a key that is gone", sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: gone}, "one", claims("ada", nil)), jwt.ReasonInvalid)
	})
}

// A fetch that hangs does not hold up one for a token with an unknown key, and what it brings at last is not used, also when the
// fetch behind it has brought what was known.
func TestFetchHangs(t *testing.T) {
	i := newIssuer(t)
	old, err := json.Marshal(i.setLocked())
	must(t, err)
	gone := i.keys["one"]
	i.rotate(t, "two")
	delete(i.keys, "one")
	fresh, err := json.Marshal(i.setLocked())
	must(t, err)
	for name, first := range map[string][]byte{"the keys are replaced meanwhile": old, "the keys stay": fresh} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fetches atomic.Int32
				cfg := i.config()
				cfg.Refresh, cfg.Refetch = time.Second, 100*time.Millisecond
				cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) {
					switch fetches.Add(1) {
					case 1:
						return first, nil
					case 2: // it was asked before the keys were replaced
						time.Sleep(5 * time.Second)
						return old, nil
					}
					return fresh, nil
				}
				v, err := jwt.NewVerifier(t.Context(), cfg)
				must(t, err)
				defer v.Close()
				time.Sleep(1500 * time.Millisecond)
				began := time.Now()
				unknown := sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: gone}, "three", claims("ada", nil))
				refused(t, v, "an unknown key", unknown, jwt.ReasonInvalid)
				refused(t, v, "a new key", i.token(t, claims("ada", nil)), "")
				if took := time.Since(began); took != 0 || fetches.Load() != 3 {
					t.Errorf("while a fetch hangs a token with an unknown key takes %v and causes fetches up to the %dth", took, fetches.Load())
				}
				time.Sleep(5 * time.Second) // the slow fetch has ended half a second ago
				refused(t, v, "a key that is gone", sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: gone}, "one", claims("ada", nil)), jwt.ReasonInvalid)
			})
		})
	}
}
