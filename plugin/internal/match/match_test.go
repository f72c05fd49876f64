package match_test

import (
	"net"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/plugin/internal/match"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMethods(t *testing.T) {
	for _, tt := range []struct {
		patterns match.Methods
		method   string
		want     bool
	}{
		{nil, "Arith.Mul", true}, {match.Methods{"*"}, "Arith.Mul", true},
		{match.Methods{"Arith.*"}, "Arith.Mul", true}, {match.Methods{"Arith.*"}, "Arith.Deep.Mul", false}, {match.Methods{"Arith.*"}, "Arithmetic.Mul", false},
		{match.Methods{"Other.X", "Arith.Mul"}, "Arith.Mul", true}, {match.Methods{"Arith.Mul"}, "Arith.Div", false},
	} {
		if got := tt.patterns.Has(tt.method); got != tt.want {
			t.Errorf("%v has %s: %v", tt.patterns, tt.method, got)
		}
	}
	for _, wrong := range []string{"", "Arith", "A*.Mul", ".*", "*.Mul", "Ar*.*"} {
		if match.Methods([]string{wrong}).Check() == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	if err := (match.Methods{"*", "a.b.*", "a.B"}).Check(); err != nil {
		t.Error(err)
	}
	if match.Service("a.b.C") != "a.b" || match.Service("bare") != "bare" {
		t.Error("the service of a method is wrong")
	}
}

func TestPrincipal(t *testing.T) {
	for _, tt := range []struct {
		p    any
		name string
		ok   bool
	}{{"ada", "ada", true}, {"", "", false}, {nil, "", false}, {7, "", false}, {net.IPv4(1, 2, 3, 4), "1.2.3.4", true}} {
		if name, ok := match.Principal(tt.p); name != tt.name || ok != tt.ok {
			t.Errorf("%v: %q, %v", tt.p, name, ok)
		}
	}
}

func TestCredential(t *testing.T) {
	for key, want := range map[string]bool{"authorization": true, "Admin-Authorization": true, "COOKIE": true, "proxy-authorization": true, "tenant": false, "": false} {
		if got := match.Credential(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}
