package httpconn

import (
	"context"
	nethttp "net/http"

	"github.com/weftrpc/weft"
)

// key is that of a context for the connection of its request.
type key struct{}

// WithConn is the context of the requests of a connection.
func WithConn(ctx context.Context, c *Conn) context.Context { return context.WithValue(ctx, key{}, c) }

// Serving notes the request that net/http has read last.
func (c *Conn) Serving(r *nethttp.Request) { c.request.Store(r) }

// Watch cancels a call when the client of its request leaves.
type Watch struct {
	conn *Conn
	call *weft.DoorCall
	stop func() bool
}

// Begin begins to watch for the client of r, until Stop is called.
func Begin(r *nethttp.Request, call *weft.DoorCall) Watch {
	ctx := r.Context()
	c, _ := ctx.Value(key{}).(*Conn)
	if c == nil || c.request.Load() != r { // a handler in front may have given the request another context
		return Watch{stop: context.AfterFunc(ctx, call.Cancel)}
	}
	// net/http reads beside the handler once the body of the request has been read, and so notices the end
	// of the connection, as it does for the context of the request.
	c.mu.Lock()
	c.call = call
	gone := c.gone
	c.mu.Unlock()
	if gone {
		call.Cancel()
	}
	return Watch{conn: c, call: call}
}

// Stop ends the watching.
func (w Watch) Stop() {
	if w.conn == nil {
		w.stop()
		return
	}
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	if w.conn.call == w.call {
		w.conn.call = nil
	}
}
