package replay

import (
	"io"
	"net"
	"testing"
)

// TestRest reads a prefix in two pieces, and then what comes on the connection.
func TestRest(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if Conn(here, nil) != here {
		t.Error("a connection without a prefix is another one")
	}
	c := Conn(here, []byte("prefix")).(*replayed)
	read := func(n int, want string) {
		t.Helper()
		p := make([]byte, n)
		if _, err := io.ReadFull(c, p); err != nil || string(p) != want {
			t.Errorf("%q was read, want %q: %v", p, want, err)
		}
	}
	read(3, "pre")
	if rest := c.Rest(); rest != nil {
		t.Error("the rest of the connection is read before its prefix")
	}
	read(3, "fix")
	if rest := c.Rest(); rest != here || c.WritesTo() != here {
		t.Errorf("the rest is read from %v", rest)
	}
	go func() { // it ends with the write
		_, _ = there.Write([]byte("rest"))
	}()
	read(4, "rest")
}
