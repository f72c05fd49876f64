package consul

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
)

var odd = []string{
	"Arith", "arith", "ARITH", "pkg.Arith", "pkg-Arith", "pkg-2eArith", "/", "//", "..", "../x", "größe", "服务", "a b", "%2F", "~", "~7e",
	"tcp://10.0.0.7:8972", "tcp://10.0.0.7:8973", "tcp-//10.0.0.7:8972", strings.Repeat("x", 255), strings.Repeat("x", 254) + "y",
}

// TestNames: what are two names for weft must be two for Consul, in which some may not
// differ by large and small letters alone, and all must be parts of paths.
func TestNames(t *testing.T) {
	d := &driver{prefix: DefaultPrefix}
	label := regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	for _, test := range []struct {
		name    string
		make    func(string) string
		checked func(string) string // what must differ
		form    *regexp.Regexp
	}{
		{"service", d.serviceName, func(s string) string { return s }, label},
		{"ID", func(s string) string { return d.serviceID("Arith", s) }, strings.ToLower, regexp.MustCompile(`^[a-z0-9.-]+$`)},
		{"ID of services", func(s string) string { return d.serviceID(s, "1") }, strings.ToLower, regexp.MustCompile(`^[a-z0-9.-]+$`)},
		{"document", d.documentKey, func(s string) string { return s }, regexp.MustCompile(`^weft-documents/[A-Za-z0-9~_-]+$`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			from := make(map[string]string)
			for _, name := range odd {
				made := test.make(name)
				if other, ok := from[test.checked(made)]; ok {
					t.Errorf("%q and %q are both %q", name, other, made)
				}
				from[test.checked(made)] = name
				if !test.form.MatchString(made) || path.Clean("/"+made) != "/"+made || (&url.URL{Path: made}).EscapedPath() != made {
					t.Errorf("%q is %q, which does not fit into a path as it is", name, made)
				}
			}
		})
	}
	for _, test := range []struct{ name, got, want string }{
		{"service", d.serviceName("pkg.Arith"), "weft-pkg-2eArith"},
		{"ID", d.serviceID("Arith", "tcp://10.0.0.7:8972"), "weft-arith-tcp-10.0.0.7-8972-d2b59cfebe499ea7"},
		{"document", d.documentKey("rules/Arith"), "weft-documents/rules~2fArith"},
	} {
		if test.got != test.want {
			t.Errorf("the %s is %q, want %q", test.name, test.got, test.want)
		}
	}
}
