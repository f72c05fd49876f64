package weft_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
)

// oddListener and oddConn have values that cannot be keys of a map.
type oddListener struct {
	net.Listener
	_ []int
}

func (l oddListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return oddConn{Conn: c}, nil
}

type oddConn struct {
	net.Conn
	_ []int
}

// oddTransport is TCP with such listeners, and a scheme of its own.
type oddTransport struct{ transport.Transport }

func (oddTransport) Scheme() string { return "odd" }

func (t oddTransport) Listen(ctx context.Context, rest string) (net.Listener, error) {
	l, err := t.Transport.Listen(ctx, rest)
	if err != nil {
		return nil, err
	}
	return oddListener{Listener: l}, nil
}

// A listener, and the connections from it, may be values of any type. It is published with the scheme of its transport.
func TestListenersOfAnyType(t *testing.T) {
	var registry recorder
	srv := weft.NewServer(&weft.ServerConfig{
		Transports: []transport.Transport{oddTransport{tcp.New(nil)}}, Registry: &registry, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, srv.Register(Arith{}))
	served := make(chan error, 2)
	var all []net.Listener
	for range 2 {
		l, err := srv.Listen(t.Context(), "odd://127.0.0.1:0")
		must(t, err)
		all = append(all, l)
		go func() { served <- srv.Serve(l) }() // it ends with the server
	}
	for _, l := range all {
		c, err := weft.Dial(t.Context(), "tcp://"+l.Addr().String(), &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		defer c.Close()
		multiply(t, c)
	}
	if i, _ := registry.get("Arith"); !strings.HasPrefix(i.Address, "odd://127.0.0.1:") {
		t.Errorf("published at %q, want the scheme odd", i.Address)
	}
	all[0].Close()
	if err := <-served; weft.CodeOf(err) != weft.Unavailable {
		t.Errorf("Serve of a closed listener: %v", err)
	}
	if got := srv.Phase(); got != weft.Serving {
		t.Errorf("with one listener left the server is %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, srv.Shutdown(ctx))
	if err := <-served; err != weft.ErrServerClosed {
		t.Errorf("Serve after the shutdown: %v", err)
	}
	polltest.True(t, time.Minute, "there are no peers", func() bool { return len(srv.Peers()) == 0 })
}
