package keyed

import (
	"net"
	"testing"
)

func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{"192.0.2.7:1": "192.0.2.7", "[2001:db8::1:2:3]:4": "2001:db8::/64", "[::ffff:192.0.2.7]:5": "192.0.2.7"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := addressOf(a); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if got := addressOf(&net.UnixAddr{Name: "/run/x", Net: "unix"}); got != "/run/x" {
		t.Error(got)
	}
}

func TestKnown(t *testing.T) {
	for _, b := range []By{Server, Service, Method, Principal, Address} {
		if !b.known() {
			t.Errorf("%q is not known", b)
		}
	}
	if By("planet").known() {
		t.Error("a planet is known")
	}
}
