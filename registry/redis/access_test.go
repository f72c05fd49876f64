package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestPassword(t *testing.T) {
	_, address := redisServer(t, "--requirepass", "s3cret",
		"--user", "weft", "on", ">other", "~weft:*", "&weft:*", "+@scripting", "+@hash", "+@sortedset", "+@string",
		"+@keyspace", "+@pubsub", "+@connection", "+time", "-@dangerous",
		"--user", "guest", "on", ">guest", "~other:*", "+@all")
	for _, test := range []struct {
		name, user, password string
		want                 string // "": it works
	}{
		{"none", "", "", "set User and Password"},
		{"a wrong one", "", "wrong", "set User and Password"},
		{"the server's", "", "s3cret", ""},
		{"a user's", "weft", "other", ""},
		{"of another user", "weft", "s3cret", "set User and Password"},
		{"of a user without rights", "guest", "guest", "begin with Prefix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := connect(t, Config{Addresses: []string{address}, User: test.user, Password: test.password})
			err := d.Put(operation(t), instance("Password", "a"), time.Minute)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Put returned %v, want an error with %q", err, test.want)
				}
				err := d.Watch(operation(t), "Password", func(registry.List) { t.Error("Watch emits a list") })
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Watch returned %v, want an error with %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("Put: %v", err)
			}
			registrytest.NewWatch(t, d, "Password").Count(t, 1)
			subscribers(t, raw(t, address, "s3cret"), d.service("Password").channel, 1)
			if err := d.Store(operation(t), "rules", nil, 0); err != nil && !errors.Is(err, registry.ErrConflict) {
				t.Errorf("Store: %v", err)
			}
			if err := d.Refresh(operation(t), instance("Password", "a"), time.Minute); err != nil {
				t.Errorf("Refresh: %v", err)
			}
			if err := d.Delete(operation(t), instance("Password", "a")); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
	}
}
