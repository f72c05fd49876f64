package jwt_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	weftdoor "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/jwt"
)

// serve starts a server that takes the tokens of a verifier, and whose methods Arith.* only ada and
// bob may call; Caller.Name is for all.
func serve(t *testing.T, v *jwt.Verifier) *plugintest.World {
	t.Helper()
	rules, err := acl.New(acl.Rules{Allow: []acl.Rule{{Principals: []string{"ada", "bob"}}, {Methods: []string{"Caller.Name"}}}})
	must(t, err)
	w := plugintest.Serve(t, &weft.ServerConfig{Authenticate: v.Authenticate, Plugins: []weft.Plugin{rules.Plugin()},
		Doors: []weft.Door{grpc.Door(nil), weftdoor.Door(nil)}})
	must(t, weft.Handle(w.Server, "Caller.Name", func(ctx context.Context, _ *string) (*string, error) {
		p := jwt.From(ctx)
		var more struct{ Tenant string }
		if err := p.Claims(&more); err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s of %s, %v, %s", p, p.Issuer, p.Scopes(), more.Tenant)
		return &name, nil
	}))
	return w
}

// A token is taken over weft's own wire, gRPC and HTTP; the name of the principal is known to other
// plugins, and a call without a token is refused on each of them.
func TestWires(t *testing.T) {
	i := newIssuer(t)
	w := serve(t, verifier(t, i.config()))
	source := tokens(t, func(context.Context) (jwt.Token, error) {
		return jwt.Token{Value: i.token(t, claims("ada", map[string]any{"tenant": "blue"}))}, nil
	})
	const want = "ada of " + issuerName + ", [read write], blue"

	c := w.Dial(t, &weft.ClientConfig{Credential: source.Credential})
	name, err := weft.Invoke[string](t.Context(), c, "Caller.Name", new(string))
	if err != nil || *name != want {
		t.Errorf("over weft's wire: %v, %v", name, err)
	}
	if n, err := plugintest.Count(t.Context(), c, 3); n != 3 || err != nil {
		t.Errorf("a stream: %d, %v", n, err)
	}
	plugintest.IsError(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.Unauthenticated, weft.Refused)
	eve := weft.StaticCredential("bearer", i.token(t, claims("eve", nil)))
	plugintest.IsError(t, w.Dial(t, &weft.ClientConfig{Credential: eve}).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.PermissionDenied, weft.Refused)

	over := func(cfg *weft.ClientConfig) *weft.Client {
		cfg.Wires = []weft.Wire{grpc.Wire(nil)}
		c, err := weft.Dial(t.Context(), "grpc://"+w.Addr, cfg)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	var r plugintest.Result
	g := over(&weft.ClientConfig{Credential: source.Credential})
	if err := g.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 6, B: 7}, &r); err != nil || r.C != 42 {
		t.Errorf("over gRPC: %v, %v", r, err)
	}
	plugintest.IsError(t, over(&weft.ClientConfig{}).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.Unauthenticated, weft.Refused)

	for header, want := range map[string]int{"Bearer " + i.token(t, claims("bob", nil)): 200, "": 401, "Basic Ym9i": 401, "Bearer x.y.z": 401} {
		if code, body := post(t, w.Addr, header); code != want {
			t.Errorf("over HTTP with %q: %d, %s", header, code, body)
		}
	}
}

func post(t *testing.T, addr, header string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/Arith/Mul", strings.NewReader(`{"A":6,"B":7}`))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b)
}

// A connection may have a token, in place of its calls.
func TestConnection(t *testing.T) {
	i := newIssuer(t)
	v := verifier(t, i.config())
	w := plugintest.Serve(t, &weft.ServerConfig{AuthenticateConn: v.AuthenticateConn})
	must(t, weft.Handle(w.Server, "Caller.Name", func(ctx context.Context, _ *string) (*string, error) {
		name := jwt.From(ctx).String()
		return &name, nil
	}))
	source := tokens(t, func(context.Context) (jwt.Token, error) { return jwt.Token{Value: i.token(t, claims("ada", nil))}, nil })
	name, err := weft.Invoke[string](t.Context(), w.Dial(t, &weft.ClientConfig{ConnCredential: source.ConnCredential}), "Caller.Name", new(string))
	if err != nil || *name != "ada" {
		t.Errorf("%v, %v", name, err)
	}
	e := plugintest.IsError(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.Unauthenticated, weft.NotSent)
	if e.Reason != "" || !strings.Contains(e.Message, "no bearer token") {
		t.Errorf("%v, reason %q", e, e.Reason)
	}
}

// A call that is refused for its token is made again, with a new one.
func TestRetry(t *testing.T) {
	i := newIssuer(t)
	w := serve(t, verifier(t, i.config()))
	fetches := 0
	source := tokens(t, func(context.Context) (jwt.Token, error) {
		if fetches++; fetches == 1 { // by the clock of the server it has expired
			return jwt.Token{Value: i.token(t, claims("ada", map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})), Expires: time.Now().Add(time.Hour)}, nil
		}
		return jwt.Token{Value: i.token(t, claims("ada", nil))}, nil
	})
	c := w.Dial(t, &weft.ClientConfig{Credential: source.Credential})
	e := plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.Unauthenticated, weft.Refused)
	if e.Reason != jwt.ReasonExpired {
		t.Error(e)
	}
	time.Sleep(2 * time.Millisecond) // the least time between two tokens
	c = w.Dial(t, &weft.ClientConfig{Credential: source.Credential, Plugins: []weft.Plugin{source.Plugin()}})
	if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil || fetches != 2 {
		t.Error(err, fetches)
	}
	// Another token would not help against a rule.
	never := weft.Plugin{Name: "never", Client: func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) {
		return nil, &weft.Error{Code: weft.PermissionDenied, Outcome: weft.Refused}
	}}
	c = w.Dial(t, &weft.ClientConfig{Credential: source.Credential, Plugins: []weft.Plugin{source.Plugin(), never}})
	plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.PermissionDenied, weft.Refused)
}
