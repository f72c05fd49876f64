package tlsconf_test

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/tlsconf"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestOffer(t *testing.T) {
	var none tls.Config
	if got := tlsconf.Offer(&none, "a", "b"); !slices.Equal(got.NextProtos, []string{"a", "b"}) || none.NextProtos != nil {
		t.Errorf("it offers %q, the original %q", got.NextProtos, none.NextProtos)
	}
	some := tls.Config{NextProtos: []string{"c"}}
	if got := tlsconf.Offer(&some, "a"); !slices.Equal(got.NextProtos, some.NextProtos) {
		t.Errorf("it offers %q", got.NextProtos)
	}
}

// wrapped is the connection on which TLS reads, in place of the one that was accepted.
type wrapped struct{ net.Conn }

// TestHeard has callbacks see the connection that was accepted, behind the call of heard.
func TestHeard(t *testing.T) {
	unknown := errors.New("no certificate for this name")
	for _, own := range []bool{false, true} { // whether there is a GetConfigForClient
		client, server := net.Pipe()
		heard := 0
		see := func(hello *tls.ClientHelloInfo) {
			if hello.Conn != server || heard != 1 {
				t.Errorf("a callback sees %T, behind %d calls of heard", hello.Conn, heard)
			}
		}
		asked := false
		cfg := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			asked = true
			see(hello)
			return nil, unknown
		}}
		if own {
			cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				see(hello)
				return nil, nil
			}
		}
		done := make(chan error, 1)
		go func() { // it ends with the connection
			done <- tls.Client(client, &tls.Config{ServerName: "a.test"}).HandshakeContext(t.Context())
			client.Close()
		}()
		ctx := tlsconf.Accepting(t.Context(), server, func() { heard++ })
		if err := tls.Server(wrapped{server}, tlsconf.Heard(cfg)).HandshakeContext(ctx); !errors.Is(err, unknown) || !asked {
			t.Errorf("the handshake ends with %v", err)
		}
		server.Close()
		if err := <-done; err == nil {
			t.Error("the client has finished the handshake")
		}
	}
}
