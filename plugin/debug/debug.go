// Package debug is an http.Handler that shows what a program is doing: the statistics of its
// servers and clients, connections, calls in flight with their age, and the profiles of
// runtime/pprof. Nothing is served until the program mounts it, and only requests that
// Config.Allow lets through are answered:
//
//	h := debug.New(&debug.Config{})
//	h.Server("", srv)
//	http.Handle("/debug/weft/", http.StripPrefix("/debug/weft", h))
//
// The paths are / (a list of them), /stats, /connections, /calls, /pprof/ and below it the
// profiles by name, profile?seconds=10 (of the processor) and trace?seconds=1. It shows no
// requests, replies, metadata or credentials, but addresses and names of methods.
package debug

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// Config configures a Handler. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Allow decides which requests are answered; the others get 403. nil: Local.
	Allow func(r *http.Request) bool
}

// Local allows the requests that come from this machine and name it in their URL, unless a browser says
// that the page of another site makes them, or a proxy that it passes them on. A proxy on the same machine
// that does not say so makes every request one of this machine: use Token behind a proxy.
func Local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !loopback(host) {
		return false
	}
	if host, _, err = net.SplitHostPort(r.Host); err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	for _, key := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
		if r.Header.Get(key) != "" {
			return false
		}
	}
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		return false
	}
	return host == "localhost" || loopback(host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Token allows the requests that have a token in their header "Authorization: Bearer". It
// panics if the token is empty.
func Token(token string) func(r *http.Request) bool {
	if token == "" {
		panic("debug: the token is empty")
	}
	want := sha256.Sum256([]byte("Bearer " + token))
	return func(r *http.Request) bool {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
}

// Handler serves the pages. Its methods may be called from any goroutine.
type Handler struct {
	allow func(r *http.Request) bool
	known figures.Watched
}

// New makes a handler that knows no server and no client yet.
func New(cfg *Config) *Handler {
	h := &Handler{allow: Local}
	if cfg != nil && cfg.Allow != nil {
		h.allow = cfg.Allow
	}
	return h
}

// Server adds a server; name tells several apart.
func (h *Handler) Server(name string, srv *weft.Server) { h.known.Server(name, srv) }

// Client adds a client of one server.
func (h *Handler) Client(name string, c *weft.Client) { h.known.Client(name, c) }

// Cluster adds a client of many servers.
func (h *Handler) Cluster(name string, c *cluster.Client) { h.known.Cluster(name, c) }

// ServeHTTP implements http.Handler. The prefix under which the handler is mounted must have
// been removed from the path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !h.allow(r) {
		http.Error(w, "this page is not for this request: see Config.Allow of package plugin/debug", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
		return
	}
	switch page := strings.Trim(r.URL.Path, "/"); {
	case page == "":
		write(w, []string{"stats", "connections", "calls", "pprof/"})
	case page == "stats":
		write(w, h.stats())
	case page == "connections":
		write(w, h.connections())
	case page == "calls":
		write(w, h.calls())
	case page == "pprof":
		write(w, profiles())
	case strings.HasPrefix(page, "pprof/"):
		profile(w, r, strings.TrimPrefix(page, "pprof/"))
	default:
		http.NotFound(w, r)
	}
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(v) // the reader has gone
}

// connection is one connection on the page of that name.
type connection struct {
	Server    string `json:"server,omitempty"`
	Peer      string `json:"peer"`
	Wire      string `json:"wire"`
	Software  string `json:"software,omitempty"`
	TLS       bool   `json:"tls"`
	OpenCalls int    `json:"open_calls"`
}

func (h *Handler) connections() []connection {
	out := []connection{}
	for _, s := range h.known.Servers() {
		for _, p := range s.Of.Peers() {
			out = append(out, connection{s.Name, p.Addr().String(), p.Wire(), p.Software(), p.TLS() != nil, len(p.OpenCalls())})
		}
	}
	slices.SortFunc(out, func(a, b connection) int { return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Peer, b.Peer)) })
	return out
}

// openCall is one call on the page of calls.
type openCall struct {
	Server string  `json:"server,omitempty"`
	Peer   string  `json:"peer"`
	Method string  `json:"method"`
	Stream bool    `json:"stream,omitempty"`
	Age    float64 `json:"age_seconds"`
}

// mostCalls is how many calls the page shows, the oldest first.
const mostCalls = 1000

func (h *Handler) calls() []openCall {
	out := []openCall{}
	for _, s := range h.known.Servers() {
		for _, p := range s.Of.Peers() {
			for _, c := range p.OpenCalls() {
				out = append(out, openCall{s.Name, p.Addr().String(), c.Method, c.Stream, c.Age.Seconds()})
			}
		}
	}
	slices.SortFunc(out, func(a, b openCall) int { return cmp.Compare(b.Age, a.Age) })
	return out[:min(len(out), mostCalls)]
}
