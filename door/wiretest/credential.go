package wiretest

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// testUncarried gives a client a credential that its wire cannot carry: the log has a warning, once for a
// connection, and not the credential.
func testUncarried(t *testing.T, k Kit) {
	if !k.NoCredential {
		return
	}
	secret := weft.Credential{Scheme: "Bearer", Token: "secret"}
	for name, set := range map[string]func(*weft.ClientConfig){
		"of the connection": func(cfg *weft.ClientConfig) {
			cfg.ConnCredential = func(context.Context) (weft.Credential, error) { return secret, nil }
		},
		"of a call": func(cfg *weft.ClientConfig) {
			cfg.Credential = func(context.Context, string) (weft.Credential, error) { return secret, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			c := start(t, k).dial(func(cfg *weft.ClientConfig) {
				set(cfg)
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			for i := range 3 {
				echo(t, c, Message{"without a credential", i})
			}
			must(t, c.Close()) // no goroutine writes to the log after it
			text := log.String()
			if strings.Count(text, "carries no credentials") != 1 || !strings.Contains(text, "wire="+k.Wire().Scheme()) || strings.Contains(text, secret.Token) {
				t.Errorf("the log has %q", text)
			}
		})
	}
}
