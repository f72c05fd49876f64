// Package transporttest holds a transport to the contract of package transport.
//
// A transport of any kind passes [Run], or weft cannot rely on it.
package transporttest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft/transport"
)

// patience is how long an operation that must end may take, on a busy machine.
const patience = 10 * time.Second

// Open returns a transport under test and an address to listen on that is not
// in use. It is called for each check.
type Open func(t *testing.T) (tr transport.Transport, addr string)

// Run checks the transport that open returns, in subtests that each name a requirement.
//
// A connection from Accept that has a method HandshakeContext, as those of
// crypto/tls have, is brought through its handshake before it is used, as a server
// does.
func Run(t *testing.T, open func(t *testing.T) (tr transport.Transport, addr string)) {
	for _, check := range []struct {
		promise string
		run     func(t *testing.T, open Open)
	}{
		{"a scheme is a word", checkScheme},
		{"the listener's address can be dialed", checkEcho},
		{"an address is listened on once", checkListenTwice},
		{"contexts do not outlive Dial and Listen", checkContextAfter},
		{"Dial without a listener fails and names the address", checkNoListener},
		{"Dial ends with its context", checkDialContext},
		{"closing the listener ends Accept", checkCloseAccept},
		{"connections outlive the listener", checkOutlive},
		{"closing a connection ends its Read", checkCloseRead},
		{"closing a connection ends its Write", checkCloseWrite},
		{"the reader gets everything before EOF", checkEOF},
		{"writing to a closed peer fails in the end", checkWriteToClosed},
		{"much travels both ways at once", checkBigTransfer},
		{"concurrent writes do not mix", checkConcurrentWrites},
		{"many connections at once", checkManyConns},
		{"a read deadline ends Read", checkReadDeadline},
		{"a write deadline ends Write", checkWriteDeadline},
	} {
		t.Run(check.promise, func(t *testing.T) { check.run(t, open) })
	}
}

// listen opens a transport and listens with it until the end of the test.
func listen(t *testing.T, open Open) (transport.Transport, net.Listener) {
	t.Helper()
	tr, addr := open(t)
	l, err := tr.Listen(t.Context(), addr)
	if err != nil {
		t.Fatalf("Listen(%q): %v", addr, err)
	}
	t.Cleanup(func() { l.Close() })
	return tr, l
}

// connect dials l and accepts, and closes both ends at the end of the test.
func connect(t *testing.T, tr transport.Transport, l net.Listener) (client, server net.Conn) {
	t.Helper()
	client, server, err := tryConnect(t.Context(), tr, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The server first: a check may leave the client with bytes that the
		// server does not read; crypto/tls then waits 5 seconds to send its close alert.
		server.Close()
		client.Close()
	})
	return client, server
}

// pair is listen and connect.
func pair(t *testing.T, open Open) (client, server net.Conn) {
	t.Helper()
	tr, l := listen(t, open)
	return connect(t, tr, l)
}

// tryConnect dials and accepts at the same time, because a transport may need both
// sides to make a connection.
func tryConnect(ctx context.Context, tr transport.Transport, l net.Listener) (client, server net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accepted := make(chan error, 1)
	// Ends with the listener and is waited for below.
	go func() {
		var err error
		server, err = accept(ctx, l)
		accepted <- err
	}()
	client, err = tr.Dial(ctx, l.Addr().String())
	if err != nil {
		// Nothing else would end an Accept without a Dial.
		l.Close()
	}
	if err2 := <-accepted; err == nil {
		err = err2
	}
	if err != nil {
		for _, c := range []net.Conn{client, server} {
			if c != nil {
				c.Close()
			}
		}
		return nil, nil, err
	}
	return client, server, nil
}

func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	if h, ok := c.(interface{ HandshakeContext(context.Context) error }); ok {
		if err := h.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// soon fails the test unless f returns in time.
func soon(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	// When f ends late, cleanup, which closes what it uses, ends this goroutine.
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s did not end within %v", what, patience)
		return nil
	}
}

// wantError fails the test unless err is target.
func wantError(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s returned error %v, want one that is %q", what, err, target)
	}
}
