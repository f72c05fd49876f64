package wirename_test

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate/internal/wirename"
)

func TestMethods(t *testing.T) {
	all := make(wirename.Methods)
	for _, c := range []struct{ folder, service, methods, want string }{
		{"a", "Orders", "Put Get", ""},
		{"a", "Orders", "List", ""},
		{"b", "Orders", "Put", ""},
		{"./a", "Orders", "Drop Get", "here: the service at here has the method Orders.Get too"},
		{"a", "shop orders", "Put", `here: a server does not register the service "shop orders": name "shop orders.Put": method name with the character 0x20`},
		{"a", "Weft", "Put", `names that begin with "Weft." are reserved`},
		{"a", strings.Repeat("a", 255), "Put", "method name of 259 bytes"},
	} {
		err := all.Add("here", c.folder, c.service, strings.Fields(c.methods))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
