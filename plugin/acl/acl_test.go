package acl_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// serve starts a server whose callers are called after their tokens.
func serve(t *testing.T, rules acl.Rules) (*plugintest.World, *acl.ACL) {
	t.Helper()
	a, err := acl.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	return plugintest.Serve(t, &weft.ServerConfig{
		Plugins: []weft.Plugin{a.Plugin()},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token == "" {
				return nil, nil
			}
			return cred.Token, nil
		},
	}), a
}

func call(t *testing.T, c *weft.Client, method, as string, want bool) {
	t.Helper()
	err := c.Call(t.Context(), method, &plugintest.Args{A: 5}, nil, weft.WithCredential(weft.Credential{Token: as}))
	e, _ := errors.AsType[*weft.Error](err)
	refused := e != nil && e.Code == weft.PermissionDenied && e.Outcome == weft.Refused && e.Reason == acl.Reason
	if refused == want {
		t.Errorf("%s as %q: %v", method, as, err)
	}
}

func TestCalls(t *testing.T) {
	w, a := serve(t, acl.Rules{
		Allow: []acl.Rule{
			{Principals: []string{"ada", "bob"}, Methods: []string{"Arith.*"}},
			{Principals: []string{"*"}, Methods: []string{"Arith.Fail"}, Networks: []string{"127.0.0.0/8", "::1"}},
			{Principals: []string{"far"}, Networks: []string{"192.0.2.0/24"}},
		},
		Deny: []acl.Rule{{Principals: []string{"bob"}, Methods: []string{"Arith.Mul"}}},
	})
	c := w.Dial(t, nil)
	call(t, c, "Arith.Mul", "ada", true)
	call(t, c, "Arith.Mul", "bob", false) // denied, although it is allowed
	call(t, c, "Arith.Fail", "bob", true)
	call(t, c, "Arith.Fail", "eve", true)
	call(t, c, "Arith.Mul", "eve", false)
	call(t, c, "Arith.Fail", "", false) // without a name
	call(t, c, "Arith.Mul", "far", false)
	if _, err := plugintest.Count(t.Context(), c, 1); !errors.Is(err, weft.PermissionDenied) {
		t.Errorf("a stream without a name: %v", err)
	}
	err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{})
	if err == nil || !strings.Contains(err.Error(), "PermissionDenied (Refused)") {
		t.Errorf("through the door: %v", err)
	}
	if n := w.Server.Stats().Refused[acl.Reason]; n != 6 {
		t.Errorf("%d refusals were counted", n)
	}
	// New rules hold for open connections.
	if err := a.Set(acl.Rules{Deny: []acl.Rule{{Principals: []string{"ada"}}}}); err != nil {
		t.Fatal(err)
	}
	call(t, c, "Arith.Mul", "ada", false)
	call(t, c, "Arith.Mul", "bob", true)
	if err := a.Set(acl.Rules{Deny: []acl.Rule{{Networks: []string{"nonsense"}}}}); err == nil {
		t.Error("wrong rules are accepted")
	}
	call(t, c, "Arith.Mul", "bob", true)
}

func TestConnections(t *testing.T) {
	w, a := serve(t, acl.Rules{Deny: []acl.Rule{{Networks: []string{"::ffff:127.0.0.0/104"}}}})
	c, err := weft.Dial(t.Context(), "tcp://"+w.Addr, &weft.ClientConfig{NoWaitForReady: true, Logger: slog.New(slog.DiscardHandler)})
	if err == nil { // Dial does not wait for the server's hello
		err = c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil, weft.WithTimeout(5*time.Second))
		c.Close()
	}
	// No reason: weft's wire does not carry one for a connection.
	if e := plugintest.IsError(t, err, weft.PermissionDenied, weft.NotSent); e.Reason != "" {
		t.Errorf("the reason is %q", e.Reason)
	}
	if err := a.Set(acl.Rules{}); err != nil {
		t.Fatal(err)
	}
	call(t, w.Dial(t, nil), "Arith.Mul", "", true)
}

func TestParse(t *testing.T) {
	r, err := acl.Parse([]byte(`{"allow": [{"networks": ["10.0.0.0/8", "192.0.2.1"], "methods": ["*"]}], "deny": [{"principals": ["eve"]}]}`))
	if err != nil || len(r.Allow) != 1 || r.Deny[0].Principals[0] != "eve" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, wrong := range []string{
		`{"allows": []}`, `{"deny": [{"methods": ["*"]}]} {}`, `{"deny": [{"methods": ["*"]}]} }`, `[`, ``, `null`, `{}`, `{"allow": []}`, `{"allow": [], "deny": [{"principals": ["eve"]}]}`, `{"allow": [{}]}`, `{"deny": [{"networks": ["10.0.0.0/99"]}]}`,
		`{"deny": [{"methods": ["Arith"]}]}`, `{"deny": [{"principals": [""]}]}`, `{"deny": [{"networks": ["::ffff:10.0.0.0/8"]}]}`,
	} {
		if _, err := acl.Parse([]byte(wrong)); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"allow": [{"networks": ["::ffff:10.0.0.0/104"], "principals": ["a"], "methods": ["A.*"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := acl.Parse(b); err == nil {
			if _, err := acl.New(r); err != nil {
				t.Errorf("rules that can be read cannot be used: %v", err)
			}
		}
	})
}
