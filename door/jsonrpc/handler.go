package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"mime"
	nethttp "net/http"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/websock"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// Handler returns a handler for JSON-RPC over POST and WebSocket, for the Handler of an http.Config of package
// door/http, at any path that its mux gives it. Metadata, credentials and the time of the calls are
// in the headers that package defines; those of the request for a WebSocket hold for every call on it. Every answer to a POST
// has the status 200, or 204 if there is nothing to answer.
func Handler(cfg *Config) nethttp.Handler { return handler{newDoor(cfg)} }

type handler struct{ d *door }

// ServeHTTP answers one request or batch.
func (h handler) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	c := http.ConnFrom(r.Context())
	if c == nil {
		nethttp.Error(w, "jsonrpc: the handler is not that of a door: put it into the Handler of an http.Config", nethttp.StatusInternalServerError)
		return
	}
	if websock.Asked(r) {
		h.serveSocket(w, r, c)
		return
	}
	if r.Method != nethttp.MethodPost {
		w.Header().Set("Allow", nethttp.MethodPost)
		nethttp.Error(w, "JSON-RPC is called by POST or by WebSocket", nethttp.StatusMethodNotAllowed)
		return
	}
	// Forms, which a page of another origin could send unasked, are refused.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Header.Get("Content-Type") != "" && (err != nil || !jsonType(kind)) {
		nethttp.Error(w, "JSON-RPC has the Content-Type application/json", nethttp.StatusUnsupportedMediaType)
		return
	}
	head, err := http.HeadOf(r)
	if err != nil {
		http.WriteError(w, err)
		return
	}
	limit := c.Limits().MaxMessage
	held := &httpbody.Held{R: nethttp.MaxBytesReader(w, r.Body, int64(limit)), Conn: c}
	defer held.Release()
	body, err := io.ReadAll(held)
	if large := (*nethttp.MaxBytesError)(nil); errors.As(err, &large) {
		write(w, nethttp.StatusRequestEntityTooLarge, tooLarge(limit))
		return
	}
	if full, ok := errors.AsType[*weft.Error](err); ok {
		full.Outcome = weft.Refused
		http.WriteError(w, full)
		return
	}
	if err != nil {
		http.WriteError(w, weft.Errorf(weft.InvalidArgument, "the body of the request cannot be read: %w", err))
		return
	}
	http.BodyRead(w)
	value := bytes.TrimSpace(body)
	if len(value) == 0 || !envelope.Valid(value) {
		write(w, nethttp.StatusOK, unreadable("the body is not valid JSON"))
		return
	}
	held.Release() // the calls count their requests
	p := &post{server: server{DoorConn: c, d: h.d}, w: w, ctx: r.Context(), done: make(chan struct{})}
	p.handle(value, head)
	<-p.done
}

func jsonType(kind string) bool {
	return kind == "application/json" || kind == "application/json-rpc" || kind == "application/jsonrequest"
}
