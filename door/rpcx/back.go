package rpcx

import (
	"context"
	"net"

	"github.com/weftrpc/weft"
)

// back is a connection in the direction from the server to its client, which has messages alone.
type back struct{ s *serverConn }

var _ weft.WireConn = back{}

// Conn implements weft.WireConn.
func (b back) Conn() net.Conn { return b.s.conn }

// Done implements weft.WireConn.
func (b back) Done() <-chan struct{} { return b.s.done }

// Err implements weft.WireConn.
func (b back) Err() error { return b.s.out.Failure() }

// Close implements weft.WireConn.
func (b back) Close() error { return b.s.conn.Close() }

// Call implements weft.WireConn: it sends a message to the client.
func (b back) Call(ctx context.Context, w *weft.WireCall) error {
	if !w.Oneway {
		e := weft.Errorf(weft.Unimplemented, "the peer speaks rpcx, in which a server cannot call its client; Notify sends it a message").WithReason(weft.ReasonNoCallback)
		e.Outcome = weft.NotSent
		return e
	}
	r, err := encodeRequest(w, b.s.d.names[:], b.s.limits.MaxMessage, "server", nil)
	if err != nil {
		return err
	}
	if err := b.s.out.LockWithRoom(ctx); err != nil {
		return notWritten(ctx, err)
	}
	b.s.out.SetBufferLocked(r.append(b.s.out.BufferLocked(), b.s.pushed.Add(1), 0, false))
	b.s.out.SendAndUnlock()
	return nil
}
