package transfer

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/delivered"
)

const (
	// afterCancel is how long a handler may go on whose context has ended.
	afterCancel = time.Second
	// lingering is how long a connection is read whose handler has returned, until the client closes it: closing it with unread
	// bytes would discard what the client has not read.
	lingering = time.Second
)

// Serve implements weft.Door. Every end of the connection is a reset, unless the handler has succeeded: a client takes an end without
// a reset for that of the whole file.
func (d *Door) Serve(c *weft.DoorConn) error {
	conn := c.Conn()
	resets := resetOnClose(conn, true)
	s, err := d.run(c, conn, resets)
	if err != nil || s.spoiled() {
		reset(conn)
		return err
	}
	resetOnClose(conn, false)
	select {
	case <-c.Draining(): // the server lingers itself
	default:
		_ = conn.SetDeadline(time.Now().Add(lingering))
		delivered.HangUp(conn)
	}
	return nil
}

// run reads the token and runs the call. It returns when the handler has, or afterCancel after the end of its context.
func (d *Door) run(c *weft.DoorConn, conn net.Conn, resets bool) (*second, error) {
	limits := c.Limits()
	_ = conn.SetReadDeadline(time.Now().Add(limits.HandshakeTimeout)) // an error is that of the connection
	var t token
	if _, err := io.ReadFull(conn, t[:]); err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "the token of a second connection did not come whole: %w", err)
	}
	k := d.tickets.take(t)
	if k == nil {
		return nil, weft.Errorf(weft.Unauthenticated, "the token of a second connection is not awaited: it was used already, or came more than %v (Config.Wait) behind the reply that had it", d.cfg.Wait)
	}
	peer, err := c.Admit(credentialOf(k.meta), nil)
	if err == nil {
		err = k.samePrincipal(peer)
	}
	if err != nil {
		return nil, err
	}
	if !resets && peer.TLS() == nil {
		d.warn.Do(func() {
			c.Logger().Warn("second connections of rpcx cannot be reset, so a client takes a file that was cut off for the whole file: have the connections of the listener implement SetLinger", "type", fmt.Sprintf("%T", underlying(conn)))
		})
	}
	k.peer = nil // a stream may outlive it by days
	_ = conn.SetReadDeadline(time.Time{})
	s := &second{conn: conn, ticket: k, timeout: limits.WriteTimeout, idle: d.cfg.Idle, canceled: make(chan struct{})}
	d.enter(peer, s)
	defer d.leave(peer)
	x := c.Begin(weft.Head{Method: k.method, Codec: "raw", Metadata: k.meta, Stream: true}, s)
	if x == nil { // Begin has called s.Fail
		return s, nil
	}
	done := make(chan struct{})
	// On a goroutine of its own, which the handler may end.
	c.Go(func() {
		defer close(done)
		x.Run()
	})
	select {
	case <-done:
	case <-s.canceled:
		late := time.NewTimer(afterCancel)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
		}
	}
	return s, nil
}

// credentialOf is the credential in the metadata of a call.
func credentialOf(m weft.Metadata) weft.Credential {
	text := m.Get("authorization")
	if scheme, token, ok := strings.Cut(text, " "); ok {
		return weft.Credential{Scheme: scheme, Token: token}
	}
	return weft.Credential{Token: text}
}
