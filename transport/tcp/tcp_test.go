package tcp_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/transporttest"
)

func TestConformance(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", ":0", "localhost:0"} {
		t.Run(addr, func(t *testing.T) {
			transporttest.Run(t, func(*testing.T) (transport.Transport, string) { return tcp.New(nil), addr })
		})
	}
}

func TestScheme(t *testing.T) {
	if s := tcp.New(nil).Scheme(); s != "tcp" {
		t.Errorf("Scheme() = %q", s)
	}
}

func TestBadAddresses(t *testing.T) {
	tr := tcp.New(nil)
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:99999", "[::1", "tcp://127.0.0.1:1"} {
		if c, err := tr.Dial(t.Context(), addr); err == nil {
			c.Close()
			t.Errorf("Dial(%q) succeeded", addr)
		} else if !strings.Contains(err.Error(), strings.TrimPrefix(addr, "127.0.0.1:")) {
			t.Errorf("Dial(%q): %v, which does not name it", addr, err)
		}
		if l, err := tr.Listen(t.Context(), addr); err == nil {
			l.Close()
			t.Errorf("Listen(%q) succeeded", addr)
		}
	}
}

func TestControl(t *testing.T) {
	var seen []string
	cfg := &tcp.Config{Control: func(network, address string, c syscall.RawConn) error {
		seen = append(seen, network+" "+address)
		return nil
	}}
	tr := tcp.New(cfg)
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if len(seen) != 2 || seen[0] != "tcp4 127.0.0.1:0" || seen[1] != "tcp4 "+l.Addr().String() {
		t.Errorf("Control was called for %q", seen)
	}

	refused := errors.New("not this one")
	tr = tcp.New(&tcp.Config{Control: func(string, string, syscall.RawConn) error { return refused }})
	if _, err := tr.Listen(t.Context(), "127.0.0.1:0"); !errors.Is(err, refused) {
		t.Errorf("Listen: %v, want the error of Control", err)
	}
	if _, err := tr.Dial(t.Context(), l.Addr().String()); !errors.Is(err, refused) {
		t.Errorf("Dial: %v, want the error of Control", err)
	}
}

// connect returns both ends of a connection through tr.
func connect(t *testing.T, tr transport.Transport) (client, server *net.TCPConn) {
	t.Helper()
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}
