package jwt_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/plugin/jwt"
)

// A function of the program that panics does not end the program: the keys stay, and a token is fetched again later.
func TestFetchPanics(t *testing.T) {
	i := newIssuer(t)
	keys, err := json.Marshal(i.setLocked())
	must(t, err)
	token := i.token(t, claims("ada", nil))
	synctest.Test(t, func(t *testing.T) {
		fetches := 0
		cfg := i.config()
		cfg.Refresh = time.Minute
		cfg.Issuers[0].Keys = func(context.Context) ([]byte, error) {
			if fetches++; fetches > 1 {
				panic("no keys")
			}
			return keys, nil
		}
		v, err := jwt.NewVerifier(t.Context(), cfg)
		must(t, err)
		defer v.Close()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if fetches < 2 {
			t.Fatal("the keys were not fetched again")
		}
		refused(t, v, "with the keys from before", token, "")

		tokens, err := jwt.NewTokens(&jwt.TokensConfig{Logger: cfg.Logger, Fetch: func(context.Context) (jwt.Token, error) { panic("no token") }})
		must(t, err)
		defer tokens.Close()
		if _, err := tokens.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "panicked: no token") {
			t.Errorf("the error is %v", err)
		}
	})
}
