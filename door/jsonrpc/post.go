package jsonrpc

import (
	nethttp "net/http"
	"strconv"
)

// post is what answers a value that came by POST. The handler of the request waits for done.
type post struct {
	w    nethttp.ResponseWriter
	done chan struct{}
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
