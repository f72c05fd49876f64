package http

import (
	"bytes"
	"context"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/cors"
)

// Door returns a door for HTTP/1.1.
func Door(cfg *Config) weft.Door {
	d := &door{cfg: cfg.complete(), headers: make(map[string]bool), nosniff: fixed("nosniff"), vary: fixed("Accept, Accept-Encoding")}
	d.cors.Origins, d.cors.Hosts = d.cfg.Origins, d.cfg.Hosts
	for _, name := range slices.Concat(alwaysMetadata(), proxyHeaders(), d.cfg.Headers) {
		d.headers[nethttp.CanonicalHeaderKey(name)] = true
	}
	return d
}

// door implements weft.Door.
type door struct {
	cfg     Config
	headers map[string]bool // that become metadata, by canonical name
	tables  sync.Map        // *weft.Services to *table
	cors    cors.Policy

	nosniff, vary []string // values of the headers of every answer
}

func (*door) Name() string { return weft.WireHTTP }

func (*door) Protocols() []string { return []string{"http/1.1"} }

// verbs are those that a request of this door may begin with. CONNECT is not among them, nor PRI,
// with which HTTP/2 begins.
func verbs() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "TRACE"}
}

// Match implements weft.Door.
func (*door) Match(prefix []byte) (yes, more bool) {
	word, _, whole := bytes.Cut(prefix, []byte(" "))
	for _, verb := range verbs() {
		if whole && verb == string(word) {
			return true, false
		}
		more = more || !whole && strings.HasPrefix(verb, string(word))
	}
	return false, more
}

// connKey is the key of a request's context for its connection.
type connKey struct{}

func connectionOf(ctx context.Context) *connection {
	x, _ := ctx.Value(connKey{}).(*connection)
	return x
}

// ConnFrom returns, in a handler of Config.Handler, the connection of the request, by which the
// handler can begin calls; nil if ctx is of no such request.
func ConnFrom(ctx context.Context) *weft.DoorConn {
	if x := connectionOf(ctx); x != nil {
		return x.DoorConn
	}
	return nil
}

// HeadOf returns what the header of a request says of the calls that a handler of Config.Handler
// begins for it: metadata with the credential, and time. The error says what is wrong with it, or
// that a page of another origin has sent it which may not.
func HeadOf(r *nethttp.Request) (weft.Head, error) {
	x := connectionOf(r.Context())
	if x == nil {
		return weft.Head{}, weft.Errorf(weft.Internal, "the request is not one of a door")
	}
	if err := samePage(x.d.cors.CheckCall, r); err != nil {
		return weft.Head{}, err
	}
	head, err := x.headOf(r)
	if err != nil {
		return head, err
	}
	return head, nil
}

// BodyRead is called by a handler of Config.Handler or Config.Front that has read the body of its request: from then
// on a client that goes ends the context of the request.
func BodyRead(w nethttp.ResponseWriter) {
	_ = nethttp.NewResponseController(w).SetReadDeadline(time.Time{}) // an error is that of the connection
}

// WriteError answers with an error, as a Problem.
func WriteError(w nethttp.ResponseWriter, err error) { writeProblem(w, asError(err)) }
