package admin_test

import (
	"testing"

	"github.com/weftrpc/weft/admin"
)

// Passwords are not shown in the forms in which drivers of databases take them.
func TestMaskedSources(t *testing.T) {
	for value, want := range map[string]string{
		"host=db user=ada password=hunter2 sslmode=on":    "host=db user=ada password=*** sslmode=on",
		"Server=db;User Id=ada;Password='hunter 2';Max=5": "Server=db;User Id=ada;Password=***;Max=5",
		"ada:hunter2@tcp(db:3306)/shop":                   "ada:xxxxx@tcp(db:3306)/shop",
		"redis:6379,password=hunter2,ssl=true":            "redis:6379,password=***,ssl=true",
		"db:5432":                                         "db:5432",
		"ada@example.com":                                 "ada@example.com",
	} {
		if got := admin.Masked("Database", value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}
