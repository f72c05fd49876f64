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

// request is a request with the context that net/http has made for it.
type request struct {
	r   *nethttp.Request
	ctx context.Context
}

// Serving notes the request that net/http has read last.
func (c *Conn) Serving(r *nethttp.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = request{r, r.Context()}
}

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
	if c == nil || !c.watch(r, ctx, call) {
		return Watch{stop: context.AfterFunc(ctx, call.Cancel)}
	}
	return Watch{conn: c, call: call}
}

// watch has the end of the connection cancel a call. It returns false if ctx, that of r, is not the one that net/http has made: a
// handler in front has given the request another one, or has overwritten the request with a copy that has.
func (c *Conn) watch(r *nethttp.Request, ctx context.Context, call *weft.DoorCall) bool {
	// net/http reads beside the handler once the body of the request has been read, and so notices the end
	// of the connection, as it does for the context of the request.
	c.mu.Lock()
	if c.last != (request{r, ctx}) {
		c.mu.Unlock()
		return false
	}
	c.call = call
	gone := c.gone
	c.mu.Unlock()
	if gone {
		call.Cancel()
	}
	return true
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

// Run runs the call of a request, which has the answer w. If the handler ends its goroutine the answer is sent before that: net/http
// would leave it unsent.
func Run(w nethttp.ResponseWriter, call *weft.DoorCall) {
	ran := false
	defer func() {
		if !ran {
			_ = nethttp.NewResponseController(w).Flush() // an error is that of the connection
		}
	}()
	call.Run()
	ran = true
}
