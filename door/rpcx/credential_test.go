package rpcx_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/door/rpcx"
)

// TestWireConnCredential: the credential of a client's connection travels with its calls, unless they have one of their own, and with
// heartbeats, of which one may be the first frame.
func TestWireConnCredential(t *testing.T) {
	long := strings.Repeat("long", 1000)
	for name, token := range map[string]string{"short": "right", "long": long} {
		t.Run(name, func(t *testing.T) {
			_, addr := serve(t, weft.ServerConfig{
				AuthenticateConn: func(_ context.Context, c weft.Credential, _ *weft.Peer) (any, error) {
					if c != (weft.Credential{Scheme: "Bearer", Token: token}) {
						return nil, weft.Errorf(weft.Unauthenticated, "a wrong token")
					}
					return "connection", nil
				},
				Authenticate: func(_ context.Context, c weft.Credential, _ *weft.CallInfo) (any, error) { return c.Token, nil },
			}, func(srv *weft.Server) error {
				return weft.Handle(srv, "Bytes.Who", func(ctx context.Context, _ *[]byte) (*[]byte, error) {
					who := []byte(weft.PrincipalFrom(ctx).(string))
					return &who, nil
				})
			})
			client := func() *weft.Client {
				return dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) {
					cfg.Codec = raw.New()
					cfg.ConnCredential = func(context.Context) (weft.Credential, error) {
						return weft.Credential{Scheme: "Bearer", Token: token}, nil
					}
				})
			}
			must(t, client().Ping(t.Context()))
			c := client()
			for range 2 {
				who, err := weft.Invoke[[]byte](t.Context(), c, "Bytes.Who", &[]byte{})
				must(t, err)
				if string(*who) != token {
					t.Errorf("a call ran for %.20q", *who)
				}
				must(t, c.Ping(t.Context()))
			}
			who, err := weft.Invoke[[]byte](t.Context(), c, "Bytes.Who", &[]byte{}, weft.WithCredential(weft.Credential{Token: "own"}))
			must(t, err)
			if string(*who) != "own" {
				t.Errorf("a call with a credential of its own ran for %.20q", *who)
			}
		})
	}
}

// TestConnCredentialBeforeThatOfCall: a connection is admitted by its own credential also if its first call has another one.
func TestConnCredentialBeforeThatOfCall(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{AuthenticateConn: func(_ context.Context, c weft.Credential, _ *weft.Peer) (any, error) {
		if c.Token != "right" {
			return nil, weft.Errorf(weft.Unauthenticated, "a wrong token")
		}
		return c.Token, nil
	}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Bytes.Who", func(ctx context.Context, _ *[]byte) (*[]byte, error) {
			who := []byte(weft.PrincipalFrom(ctx).(string))
			return &who, nil
		})
	})
	for token, code := range map[string]weft.Code{"right": weft.CodeOf(nil), "wrong": weft.Unauthenticated} {
		for _, quiet := range []bool{false, true} {
			c := dial(t, addr, rpcx.Wire(&rpcx.WireConfig{NoHeartbeat: quiet}), func(cfg *weft.ClientConfig) {
				cfg.Codec = raw.New()
				cfg.ConnCredential = func(context.Context) (weft.Credential, error) {
					return weft.Credential{Scheme: "Bearer", Token: token}, nil
				}
			})
			for _, own := range []string{"own", "right"} {
				who, err := weft.Invoke[[]byte](t.Context(), c, "Bytes.Who", &[]byte{}, weft.WithCredential(weft.Credential{Token: own}))
				if weft.CodeOf(err) != code || err == nil && string(*who) != token {
					t.Errorf("a call with the credential %s on a connection with %s: %v, want %v", own, token, err, code)
				}
			}
		}
	}
}
