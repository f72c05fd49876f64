package transfer_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// TestPrincipal has clients whose connections have a credential: the handler runs for the principal that got the token, or not at all.
func TestPrincipal(t *testing.T) {
	cert, pool := certificate(t)
	alice := weft.StaticCredential("Bearer", "alice")
	conn := func(ctx context.Context) (weft.Credential, error) { return alice(ctx, "") }
	for _, test := range []struct {
		name       string
		scheme     string
		cfg        weft.ClientConfig
		certified  bool
		principals string // of the handlers that ran
		fails      string // what the error says; "": there is none
	}{
		{"a credential of the connection", "tcp", weft.ClientConfig{ConnCredential: conn}, false, "[]", "ClientConfig.Credential"},
		{"a credential of the connection, by a wire without a place for it", "rpcx", weft.ClientConfig{ConnCredential: conn}, false, "[alice]", ""},
		{"of the connection and of calls", "tcp", weft.ClientConfig{ConnCredential: conn, Credential: alice}, false, "[alice]", ""},
		{"a certificate", "tcp", weft.ClientConfig{}, true, "[guest]", ""},
		{"a certificate and a credential of the connection", "tcp", weft.ClientConfig{ConnCredential: conn}, true, "[]", "ended after 0 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ran := make(chan any, 10)
			cfg := weft.ServerConfig{
				AuthenticateConn: func(_ context.Context, c weft.Credential, _ *weft.Peer) (any, error) {
					if c.Token == "" {
						return "guest", nil
					}
					return c.Token, nil
				},
				StreamInterceptors: []weft.StreamInterceptor{func(ctx context.Context, info *weft.CallInfo, s weft.RawStream, next weft.StreamFunc) error {
					ran <- weft.PrincipalFrom(ctx)
					return next(ctx, info, s)
				}},
			}
			var secured *tls.Config
			if test.certified {
				cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert}
				secured = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", Certificates: []tls.Certificate{cert}}
				test.cfg.TLS = secured
			}
			_, addr := serve(t, newBox(), cfg, nil)
			c := &transfer.Client{Caller: dial(t, test.scheme+"://"+addr, test.cfg), TLS: secured}
			n, err := c.DownloadFile(t.Context(), "a.txt", nil, io.Discard)
			if test.fails == "" && (err != nil || n != 5) || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("%d bytes, %v, want an error with %q", n, err, test.fails)
			}
			var all []any
			for len(ran) > 0 {
				all = append(all, <-ran)
			}
			if fmt.Sprint(all) != test.principals {
				t.Errorf("handlers ran for %v, want %s", all, test.principals)
			}
		})
	}
}
