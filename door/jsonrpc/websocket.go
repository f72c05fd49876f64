package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	nethttp "net/http"
	"sync"

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

// socket is a connection by WebSocket: each message is a request or a batch, or what answers one.
type socket struct {
	server
	values
	ws  *websock.Conn
	out *combine.Writer
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
	life, cancel := context.WithCancel(context.Background())
	defer cancel() // ends the calls that are open: their answers cannot be sent
	x := &socket{server: server{DoorConn: c, d: h.d, watch: life}, ws: ws,
		out: combine.New(ws.Pieces(), limits.WriteBuffer, limits.WriteTimeout, websock.Append)}
	x.out.Count(cfg.Count, c.Replies())
	defer x.out.Close()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait() // also when reading panics
	defer close(ended)
	wg.Go(func() {
		x.drain(c, ended, func() {
			x.out.Settle(ended)
			x.ws.Close(closeGoingAway, "the server is shutting down")
		})
	})
	code, reason := x.read(head)
	x.out.Settle(nil) // what tells of the end is written
	ws.Close(code, reason)
}

// read takes messages off the connection until it ends, and returns how it is to be closed.
func (x *socket) read(head weft.Head) (code int, reason string) {
	for {
		value, err := x.ws.Next()
		held := cap(value)
		switch {
		case err == nil:
		case errors.Is(err, websock.ErrTooLarge):
			_ = x.out.Send(tooLarge(x.Limits().MaxMessage)) // the connection ends anyway
			return closeTooLarge, err.Error()
		case errors.Is(err, websock.ErrStalled):
			return closeStalled, err.Error()
		default:
			return closeNormal, ""
		}
		if value = bytes.TrimSpace(value); len(value) == 0 || !envelope.Valid(value) {
			x.Hold(-held)
			if x.out.Send(unreadable("the message is not valid JSON")) != nil {
				return closeNormal, ""
			}
			continue
		}
		x.Hold(-held) // the calls count their requests
		x.handle(value, incoming{head: head, refused: x.enter(), to: x})
	}
}

// answer implements sink.
func (x *socket) answer(b []byte, p pace) {
	answer(x.out, b, p)
	x.answered()
}
