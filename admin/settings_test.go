package admin_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

func TestSettings(t *testing.T) {
	cert, pool := certificate(t)
	r := start(t, &weft.ServerConfig{
		MaxConns: 77, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool},
		Plugins:  []weft.Plugin{{Name: "noop", Hooks: []any{noop{}}}},
		Registry: newRecorder(), Instance: weft.Instance{Zone: "a", Tags: map[string]string{"db_password": "canary", "disk": "fast"}},
		Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return nil, nil },
	}, &admin.Config{Token: "canary", Settings: func() map[string]string {
		return map[string]string{"shop.api-key": "canary", "shop.database": "postgres://app:canary@db/shop?sslpassword=canary&a=b", "shop.name": "corner", "shop.both": "etcd://u:canary@a,etcd://u:canary@b"}
	}})
	a := admin.NewClient(r.dial("", &weft.ClientConfig{TLS: &tls.Config{RootCAs: pool, ServerName: "billing.example"}}), &admin.ClientConfig{Token: "canary"})
	all, err := a.Config(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]admin.Setting)
	for _, s := range all.Settings {
		if strings.Contains(s.Value, "canary") {
			t.Errorf("a secret is shown: %+v", s)
		}
		if _, twice := got[s.Name]; twice {
			t.Errorf("%s is there twice", s.Name)
		}
		got[s.Name] = s
	}
	for name, want := range map[string]string{
		"MaxConns": "77", "TLS": "on", "Limits.MaxMessage": "4194304", "Timeout": "10s", "Plugins": "noop", "Doors": "jsonrpc, http", "Codecs": "protobuf, msgpack, json, raw, gencode",
		"Authenticate": "set", "AuthenticateConn": "not set", "Instance.Zone": "a", "Instance.Tags.db_password": "***", "Instance.Tags.disk": "fast",
		"admin.Token": "***", "shop.api-key": "***", "shop.name": "corner", "shop.database": "postgres://app:xxxxx@db/shop?a=b&sslpassword=xxxxx",
		"shop.both": "etcd://u:xxxxx@a,etcd://u:xxxxx@b", "Registry": "*admin_test.recorder", "Transports": "tcp, unix", "DrainTimeout": "30s",
	} {
		if s, ok := got[name]; !ok || s.Value != want {
			t.Errorf("%s is %q, want %q", name, s.Value, want)
		}
	}
	if s := got["TLS.Certificates.0"].Value; !strings.Contains(s, "billing.example") {
		t.Errorf("%q", s)
	}
	if s := got["Limits.MaxMessage"]; s.Default != "4194304" {
		t.Errorf("%+v", s)
	}
	some, err := a.Config(t.Context(), &admin.ConfigRequest{Prefix: "Overload."})
	if err != nil || len(some.Settings) != 3 {
		t.Errorf("%+v, %v", some, err)
	}
	// Without a configuration every value is its default.
	plain, err := start(t, nil, nil).admin("").Config(t.Context(), &admin.ConfigRequest{Prefix: "Limits."})
	if err != nil || len(plain.Settings) != 15 {
		t.Fatalf("%+v, %v", plain, err)
	}
	for _, s := range plain.Settings {
		if s.Value != s.Default {
			t.Errorf("%+v", s)
		}
	}
}

// noop is a hook.
type noop struct{}

func (noop) ServiceRegistered(string) {}

func TestMasked(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"password", "x", "***"}, {"db.Pass-Word", "x", "***"}, {"ACCESS_KEY_ID", "x", "***"}, {"monkey", "x", "x"}, {"secret", "", ""},
		{"url", "redis://:pw@h:1/0", "redis://:xxxxx@h:1/0"}, {"url", "tcp://h:1", "tcp://h:1"}, {"url", "a://%zz", "***"}, {"text", "see http://u:p@h and go", "see http://u:xxxxx@h and go"},
	} {
		if got := admin.Masked(tt.name, tt.value); got != tt.want {
			t.Errorf("%s=%s is shown as %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
