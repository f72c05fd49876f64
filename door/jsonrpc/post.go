package jsonrpc

import (
	"context"
	nethttp "net/http"
	"strconv"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// post answers a value that came by POST. The handler of the request waits for done.
type post struct {
	server
	w    nethttp.ResponseWriter
	ctx  context.Context // of the request, with which the calls end
	done chan struct{}
}

// handle has the calls of a valid value run, and answers it.
func (p *post) handle(value []byte, head weft.Head) {
	in := incoming{head: head, to: p, kept: true}
	if value[0] == '[' {
		p.batch(value, in, p.run)
		return
	}
	c := &call{s: &p.server, to: p, r: envelope.ReadRequest(value, false)}
	c.r.Own(value, true)
	p.run(c, &in)
}

// run has a call run on a goroutine of its own.
func (p *post) run(c *call, in *incoming) {
	if !p.begin(c, in) {
		return
	}
	stop := context.AfterFunc(p.ctx, c.Cancel)
	p.Go(func() {
		defer stop()
		c.Run()
	})
}

// answer implements sink.
func (p *post) answer(b []byte, _ pace) {
	defer close(p.done)
	if b == nil {
		p.w.WriteHeader(nethttp.StatusNoContent)
		return
	}
	write(p.w, nethttp.StatusOK, b)
}

// write sends a response.
func write(w nethttp.ResponseWriter, status int, b []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // an error is that of the connection
}
