package jsonrpc

import (
	"bytes"
	"errors"
	nethttp "net/http"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/websock"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// The close codes of a connection by WebSocket (RFC 6455, section 7.4.1).
const (
	closeNormal    = 1000
	closeGoingAway = 1001
	closeStalled   = 1008
	closeTooLarge  = 1009
)

// protocols are the subprotocols of which the first one that a client offers is chosen.
func protocols() []string { return []string{"jsonrpc", "jsonrpc-2.0", "json-rpc", "weft"} }

// socket is a connection by WebSocket: each message is a request or a batch, or what answers one. It implements carrier.
type socket struct {
	*conn
	ws *websock.Conn

	code   int // how it is closed when reading has ended
	reason string
}

// socketConfig is that of a connection within limits.
func socketConfig(l weft.Limits) websock.Config {
	return websock.Config{Limit: l.MaxMessage + envelopeRoom, Stall: l.HandshakeTimeout, Idle: l.PingIdle, Silence: l.WriteTimeout,
		Write: l.WriteTimeout}
}

// serveSocket answers a request for WebSocket, and the calls on the connection until it ends.
func (h handler) serveSocket(w nethttp.ResponseWriter, r *nethttp.Request, c *weft.DoorConn) {
	head, err := http.HeadOf(r)
	if err != nil {
		http.WriteError(w, err)
		return
	}
	select {
	case <-c.Draining():
		http.WriteError(w, draining())
		return
	default:
	}
	limits := c.Limits()
	cfg := socketConfig(limits)
	cfg.Count = func(n int) { c.Hold(n) }
	cfg.Took = func() {
		if c.Replies().Crowded() {
			c.Replies().Took()
		}
	}
	ws, err := websock.Accept(w, r, protocols(), cfg)
	if err != nil {
		return // it was answered
	}
	x := &socket{conn: newConn(h.d, c, combine.New(ws.Pieces(), limits.WriteBuffer, limits.WriteTimeout, websock.Append)), ws: ws, code: closeNormal}
	x.out.Serve(cfg.Count, c.Replies(), x.calls.Guard.Known())
	defer x.out.Close()
	x.in.head, x.in.kept = head, true
	x.start(x)
	x.drain(c, x.ended, func() {
		x.out.Settle(x.ended)
		ws.Close(closeGoingAway, "the server is shutting down")
	})
	x.out.Settle(nil)          // what tells of the end is written
	ws.Close(x.code, x.reason) // the connection ends, and with it the calls that are open
}

// next implements carrier.
func (x *socket) next() ([]byte, error) {
	x.calls.Submit()
	for {
		value, err := x.ws.Next()
		if err != nil {
			return nil, err
		}
		x.Hold(-cap(value)) // the calls count their requests
		if value = bytes.TrimSpace(value); len(value) > 0 && envelope.Valid(value) {
			return value, nil
		}
		if err := x.out.Send(unreadable("the message is not valid JSON")); err != nil {
			return nil, err
		}
	}
}

// split implements carrier.
func (x *socket) split() {}

// tell implements carrier.
func (x *socket) tell(err error) error {
	switch {
	case errors.Is(err, websock.ErrTooLarge):
		_ = x.out.Send(tooLarge(x.Limits().MaxMessage)) // the connection ends anyway
		x.code, x.reason = closeTooLarge, err.Error()
	case errors.Is(err, websock.ErrStalled):
		x.code, x.reason = closeStalled, err.Error()
	}
	return nil
}
