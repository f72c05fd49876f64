package transfer

import (
	"io"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
)

const (
	// afterCancel is how long a handler may go on whose context has ended.
	afterCancel = time.Second
	// lingering is how long a connection is read whose handler has returned, until the client closes it: closing it with unread
	// bytes would discard what the client has not read.
	lingering = time.Second
)

// Serve implements weft.Door.
func (d *Door) Serve(c *weft.DoorConn) error {
	conn, limits := c.Conn(), c.Limits()
	_ = conn.SetReadDeadline(time.Now().Add(limits.HandshakeTimeout)) // an error is that of the connection
	var t token
	if _, err := io.ReadFull(conn, t[:]); err != nil {
		return weft.Errorf(weft.InvalidArgument, "the token of a second connection did not come whole: %w", err)
	}
	k := d.tickets.take(t)
	if k == nil {
		return weft.Errorf(weft.Unauthenticated, "the token of a second connection is not awaited: it was used already, or came more than %v (Config.Wait) behind the reply that had it", d.cfg.Wait)
	}
	peer, err := c.Admit(credentialOf(k.meta), nil)
	if err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	s := &second{conn: conn, ticket: k, timeout: limits.WriteTimeout, idle: d.cfg.Idle, canceled: make(chan struct{})}
	d.enter(peer, s)
	defer d.leave(peer)
	x := c.Begin(weft.Head{Method: k.method, Codec: "raw", Metadata: k.meta, Stream: true}, s)
	if x == nil {
		s.reset()
		return nil
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
	if s.spoiled() {
		s.reset()
		return nil
	}
	select {
	case <-c.Draining(): // the server lingers itself
	default:
		_ = conn.SetDeadline(time.Now().Add(lingering))
		session.HangUp(conn)
	}
	return nil
}

// credentialOf is the credential in the metadata of a call.
func credentialOf(m weft.Metadata) weft.Credential {
	text := m.Get("authorization")
	if scheme, token, ok := strings.Cut(text, " "); ok {
		return weft.Credential{Scheme: scheme, Token: token}
	}
	return weft.Credential{Token: text}
}
