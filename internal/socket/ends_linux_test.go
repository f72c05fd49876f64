package socket

import (
	"net"
	"path/filepath"
	"testing"
)

// ends returns the two ends of a connection.
func ends(t *testing.T, network string) (one, other net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = one.Close()
		_ = other.Close()
	})
	return one, other
}
