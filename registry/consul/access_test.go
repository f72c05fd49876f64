package consul

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft/registry"
)

const master = "5ec9e7f0-7a2b-4d0e-9f57-0c2a6a1d7b11"

// TestAccess has a Consul that wants tokens: with the rights that Config.Token names
// everything goes well, and without one each operation says which.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := startSecured(t, master, `-hcl=acl { enabled = true default_policy = "deny" tokens { master = "`+master+`" } }`)
	root := openDriver(t, Config{Address: s.address, Token: master})
	token := func(name, rules string) string {
		t.Helper()
		if _, _, err := root.client.ACL().PolicyCreate(&api.ACLPolicy{Name: name, Rules: rules}, nil); err != nil {
			t.Fatal(err)
		}
		made, _, err := root.client.ACL().TokenCreate(&api.ACLToken{Policies: []*api.ACLLink{{Name: name}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.SecretID
	}
	server := token("server", `service_prefix "weft-" { policy = "write" } node_prefix "" { policy = "read" } key_prefix "weft-" { policy = "write" }`)
	client := token("client", `service_prefix "weft-" { policy = "read" } node_prefix "" { policy = "read" } key_prefix "weft-" { policy = "read" }`)
	const service, write, read = "service:write", "key:write", "key:read"
	for _, test := range []struct {
		name, token string
		lacks       map[string]string // by operation; what is not in it goes well
	}{
		{"a server's", server, nil},
		{"a client's", client, map[string]string{"Put": service, "Refresh": service, "Delete": service, "Store": write}},
		{"none", "", map[string]string{"Put": service, "Delete": service, "Store": write, "Load": read, "WatchDocument": read}},
		{"an unknown one", "5ec9e7f0-0000-0000-0000-0c2a6a1d7b11", map[string]string{
			"Put": service, "Refresh": service, "Delete": service, "Store": write, "Load": read, "WatchDocument": read, "Watch": "service:read",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := root.Put(t.Context(), arith, time.Minute); err != nil {
				t.Fatal(err)
			}
			for what, err := range operations(t, openDriver(t, Config{Address: s.address, Token: test.token})) {
				want, denied := test.lacks[what]
				if what == "Refresh" && test.token == "" {
					// Without a token Consul shows nothing.
					if !errors.Is(err, registry.ErrLost) {
						t.Errorf("Refresh: %v, want ErrLost", err)
					}
					continue
				}
				if !denied && err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if denied && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Config.Token")) {
					t.Errorf("%s: %v, want an error that names Config.Token and %s", what, err, want)
				}
			}
		})
	}
}

// operations does everything once.
func operations(t *testing.T, d *driver) map[string]error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	put := d.Put(ctx, arith, time.Minute)
	refresh := d.Refresh(ctx, arith, time.Minute)
	document, load := d.Load(ctx, "rules")
	return map[string]error{
		"Put": put, "Refresh": refresh, "Load": load,
		"Store":  d.Store(ctx, "rules", []byte("x"), document.Version),
		"Delete": d.Delete(ctx, arith),
		"Watch": first(ctx, func(ctx context.Context, got func()) error {
			return d.Watch(ctx, "Arith", func(registry.List) { got() })
		}),
		"WatchDocument": first(ctx, func(ctx context.Context, got func()) error {
			return d.WatchDocument(ctx, "rules", func(registry.Document) { got() })
		}),
	}
}

// first returns nil when a watch emits something.
func first(ctx context.Context, watch func(ctx context.Context, got func()) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	emitted := false
	err := watch(ctx, func() { emitted = true; cancel() })
	if emitted {
		return nil
	}
	return err
}
