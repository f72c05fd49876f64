package http

import (
	"bytes"
	"context"
	nethttp "net/http"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
)

// Door returns a door for HTTP/1.1.
func Door(cfg *Config) weft.Door {
	d := &door{cfg: cfg.complete(), headers: make(map[string]bool)}
	for _, name := range append(alwaysMetadata(), d.cfg.Headers...) {
		d.headers[nethttp.CanonicalHeaderKey(name)] = true
	}
	return d
}

// door implements weft.Door.
type door struct {
	cfg     Config
	headers map[string]bool // that become metadata, by canonical name
	tables  sync.Map        // *weft.Services to *table
	guard   nethttp.CrossOriginProtection
}

func (*door) Name() string { return "http" }

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

// ConnFrom returns, in a handler of Config.Handler, the connection of the request, by which the
// handler can begin calls; nil if ctx is of no such request.
func ConnFrom(ctx context.Context) *weft.DoorConn {
	c, _ := ctx.Value(connKey{}).(*weft.DoorConn)
	return c
}
