package http

import (
	nethttp "net/http"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/schema"
)

// The defaults of a Config.
const (
	DefaultBodyTimeout = 30 * time.Second
	DefaultIdleTimeout = 3 * time.Minute
)

// Config configures a door. The zero value, and a nil pointer to one, give safe defaults. A
// door copies it.
type Config struct {
	// Prefix is the path below which the methods are, for example "/api"; "": they begin at "/".
	// It does not concern the paths of Get, Post and the like.
	Prefix string
	// Handler answers the requests that are for no method, such as those for pages; ConnFrom
	// gives it the connection. Without Ready it also answers /healthz and /readyz, which the door
	// otherwise does. nil: 404 Not Found.
	Handler nethttp.Handler
	// Front makes, for each connection, the handler that gets every request first: it answers the
	// request or passes it on to next, the door. Package door/connect serves its protocols by it.
	// BodyTimeout bounds its reading of the body too, from when the header has come; a handler that answers by itself
	// calls BodyRead when it has read the body, or sets another deadline by an http.ResponseController.
	// Answers share the values of some headers: Header().Set replaces a value, while the elements of the slices
	// in the header must not be changed.
	// nil: the door gets every request.
	Front func(c *weft.DoorConn, next nethttp.Handler) nethttp.Handler
	// Origins are the origins of pages whose scripts may call methods (CORS): exact ones, as
	// "https://app.example.com", those of a domain, as "https://*.example.com", or "*" for all. nil:
	// no page of another origin may.
	Origins []string
	// Hosts are the names by which clients call the server, without ports: exact ones, as "api.example.com", those of
	// a domain, as "*.example.com", or "*" for all. Requests with another Host are refused, but for IP addresses and
	// localhost. nil: calls of a page are refused that was not loaded by TLS and whose name, which is also the Host,
	// its owner may have given the address of this server (DNS rebinding); see docs/doors/http.md.
	Hosts []string
	// Headers are further request headers that become metadata, in lower case.
	Headers []string
	// Compressors are what bodies may be compressed with, under their names; the first one that
	// a client accepts is used for answers. nil: gzip.
	Compressors []compress.Compressor
	// StrictFields refuses JSON requests with fields that the type of the request does not have.
	StrictFields bool
	// Ready makes /readyz fail while it returns an error; it is called concurrently. With it the
	// door answers /healthz and /readyz also if there is a Handler. nil: only a shutdown makes
	// /readyz fail, unless there is a Handler, which then answers both.
	Ready func() error
	// OpenAPI has the door serve a description of all methods at /openapi.json, and a page to read
	// and try it at /docs. nil: neither is served.
	OpenAPI *schema.Info
	// BodyTimeout is the time for the body of a request to come in, other than those of methods that
	// receive many messages. A handler of Handler may set another deadline by an
	// http.ResponseController. 0: DefaultBodyTimeout.
	BodyTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request. 0: DefaultIdleTimeout.
	IdleTimeout time.Duration
}

// complete is the configuration with its defaults.
func (c *Config) complete() Config {
	var out Config
	if c != nil {
		out = *c
	}
	if out.Prefix = "/" + strings.Trim(out.Prefix, "/"); out.Prefix != "/" {
		out.Prefix += "/"
	}
	if out.Compressors == nil {
		out.Compressors = []compress.Compressor{gzip.New()}
	}
	if out.BodyTimeout <= 0 {
		out.BodyTimeout = DefaultBodyTimeout
	}
	if out.IdleTimeout <= 0 {
		out.IdleTimeout = DefaultIdleTimeout
	}
	return out
}
