package nacos

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// TestAccess has a Nacos in which one must log in: a user that may read and write the
// group does everything, others get errors that say why.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := startNacos(t, "--nacos.core.auth.enabled=true", "--nacos.core.auth.admin.enabled=true",
		"--nacos.core.auth.caching.enabled=false", "--server.error.include-message=always")
	s.must(t, http.MethodPost, "/v3/auth/user/admin", "", url.Values{"password": {"administrator"}})
	token := s.token(t, "nacos", "administrator")
	for _, user := range []string{"weft", "other"} {
		s.must(t, http.MethodPost, "/v3/auth/user", token, url.Values{"username": {user}, "password": {"password"}})
		s.must(t, http.MethodPost, "/v3/auth/role", token, url.Values{"username": {user}, "role": {user}})
		s.must(t, http.MethodPost, "/v3/auth/permission", token, url.Values{
			"role": {user}, "resource": {"public:" + user + ":*"}, "action": {"rw"},
		})
	}
	t.Run("one group", func(t *testing.T) {
		worksAll(t, openDriver(t, Config{Addresses: []string{s.address}, Username: "weft", Password: "password"}))
	})
	for _, test := range []struct {
		name, user, password string
		want                 string // in every error
	}{
		{"no user", "", "", "403"},
		{"an unknown user", "unknown", "password", `"unknown"`},
		{"a wrong password", "weft", "wrong", `"weft"`},
		{"another group", "other", "password", "403"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := openDriver(t, Config{Addresses: []string{s.address}, Username: test.user, Password: test.password})
			for what, err := range operations(t, d) {
				if err == nil || errors.Is(err, registry.ErrLost) || errors.Is(err, registry.ErrConflict) ||
					!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Config.Username") {
					t.Errorf("%s: %v, want an error with %s that names Config.Username", what, err, test.want)
				}
			}
		})
	}
	t.Run("a token that is not good any more", func(t *testing.T) {
		d := openDriver(t, Config{Addresses: []string{s.address}, Username: "weft", Password: "password"})
		<-d.client.session
		d.client.session <- session{token: "old", since: time.Now().Add(-time.Hour), expires: time.Now().Add(time.Hour)}
		worksAll(t, d)
	})
}

func (s server) token(t *testing.T, user, password string) string {
	t.Helper()
	var reply struct{ AccessToken string }
	body := s.must(t, http.MethodPost, "/v3/auth/user/login", "", url.Values{"username": {user}, "password": {password}})
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	return reply.AccessToken
}

// operations does everything once. It leaves nothing behind.
func operations(t *testing.T, d *driver) map[string]error {
	t.Helper()
	ctx := testContext(t)
	i := arith("Arith", "one")
	put, refresh := d.Put(ctx, i, time.Minute), d.Refresh(ctx, i, time.Minute)
	_, list := d.entries(ctx, "Arith")
	store := d.Store(ctx, "rules", []byte("x"), 0)
	document, load := d.Load(ctx, "rules")
	if load == nil {
		store = errors.Join(store, d.Store(ctx, "rules", []byte("y"), document.Version))
	}
	return map[string]error{
		"Put": put, "Refresh": refresh, "the list": list, "Store": store, "Load": load, "Delete": d.Delete(ctx, i),
	}
}

func worksAll(t *testing.T, d *driver) {
	t.Helper()
	for what, err := range operations(t, d) {
		// The second time, the document is there already.
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
