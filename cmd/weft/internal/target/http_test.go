package target

import (
	"net"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// TestNoAnswer has a server close connections in all ways: what is said is the same.
func TestNoAnswer(t *testing.T) {
	for name, reads := range map[string]int{"at once": 0, "behind a part of the request": 16, "behind most of it": 100} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() { // it ends with the listener
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					if reads > 0 {
						_, _ = conn.Read(make([]byte, reads))
						_ = conn.(*net.TCPConn).SetLinger(0) // with a reset
					}
					_ = conn.Close()
				}
			}()
			c, err := weft.Dial(t.Context(), "http://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{httpWire{"http"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 20 {
				_, err := weft.Invoke[int](t.Context(), c, "Arith.Mul", &map[string]int{"A": 6})
				if err == nil || weft.CodeOf(err) != weft.Unavailable || !strings.Contains(err.Error(), "it may not speak HTTP") {
					t.Fatalf("%v, want Unavailable and that it may not speak HTTP", err)
				}
			}
		})
	}
}
