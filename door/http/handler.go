package http

import (
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/door/internal/httpconn"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/door/internal/websock"
)

// ServeHTTP answers one request.
func (x *connection) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.ContentLength != 0 {
		// It also bounds how long net/http waits for a body that is not read.
		_ = nethttp.NewResponseController(w).SetReadDeadline(time.Now().Add(x.bodyTimeout()))
	}
	if x.refused != nil {
		w.Header().Set("Connection", "close")
		writeProblem(w, x.refused)
		return
	}
	x.lastIfDraining(w)
	if err := samePage(x.d.cors.CheckHost, r); err != nil {
		writeProblem(w, err)
		return
	}
	r.TLS = x.tls
	if x.conn != nil {
		x.conn.Serving(r)
	}
	x.first.ServeHTTP(w, r)
}

// bodyTimeout is the time for the body of a request to come in. A client that was not admitted has no more than in its
// handshake.
func (x *connection) bodyTimeout() time.Duration {
	if x.refused != nil {
		return min(x.d.cfg.BodyTimeout, x.Limits().HandshakeTimeout)
	}
	return x.d.cfg.BodyTimeout
}

// serve answers a request that Config.Front has not answered.
func (x *connection) serve(w nethttp.ResponseWriter, r *nethttp.Request) {
	t := x.table()
	a := x.find(t, r)
	switch {
	case a.t == nil && a.name == "" && x.page(t, w, r):
	case a.t == nil && a.allow == nil && x.d.cfg.Handler != nil:
		x.d.cfg.Handler.ServeHTTP(w, r)
	case len(x.d.cors.Origins) > 0 && x.d.cors.Answer(w, r, append(a.allow, r.Method)):
	case a.t == nil && a.allow != nil:
		w.Header().Set("Allow", strings.Join(a.allow, ", "))
		if r.Method == nethttp.MethodOptions {
			w.WriteHeader(nethttp.StatusNoContent)
			return
		}
		writeProblem(w, refusal(weft.Unimplemented, reasonVerb, "%s %s: this method is called by %s", r.Method, httpfield.Clip(r.URL.Path), strings.Join(a.allow, ", ")))
	case a.name == "":
		writeProblem(w, refusal(weft.Unimplemented, weft.ReasonNoMethod, "there is nothing at %s; a method is called by POST %sService/Method", httpfield.Clip(r.URL.Path), x.d.cfg.Prefix))
	default:
		x.call(t, a, w, r)
	}
}

// lastIfDraining tells a client to make no more requests on the connection, if the server shuts
// down.
func (x *connection) lastIfDraining(w nethttp.ResponseWriter) {
	if x.draining() {
		w.Header().Set("Connection", "close")
	}
}

// draining reports whether the server shuts down.
func (x *connection) draining() bool {
	select {
	case <-x.Draining():
		return true
	default:
		return false
	}
}

// address is what a request is for.
type address struct {
	name  string       // of the method; "": none
	t     *target      // nil: there is no such method, or the verb is wrong
	r     *route.Route // nil: the address is Service/Method
	vars  map[string]string
	allow []string // the verbs that the address has, if there is a method

	method httpconn.Method
}

// find finds out what a request is for.
func (x *connection) find(t *table, r *nethttp.Request) *address {
	if r.Method == nethttp.MethodPost && r.URL.RawPath == "" {
		if a := t.posts[r.URL.Path]; a != nil {
			return a
		}
	}
	path := r.URL.EscapedPath()
	if r.Method == nethttp.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		return x.allowed(t, path)
	}
	parts := partsOf(path)
	if found, vars := t.routes.Find(r.Method, parts); found != nil {
		m := found.To.(*target)
		return &address{name: m.Name, t: m, r: found, vars: vars}
	}
	name := ""
	if rest, ok := strings.CutPrefix(r.URL.Path, x.d.cfg.Prefix); ok && r.URL.RawPath == "" {
		name = methodAt(strings.Split(rest, "/"))
	}
	m := t.methods[name]
	switch {
	case m == nil && r.Method == nethttp.MethodPost && x.d.cfg.Handler == nil && len(t.routes.Verbs(parts)) == 0:
		return &address{name: name} // it is refused like any call, and counted
	case m != nil && (slices.Contains(verbsOf(m), r.Method) || websock.Asked(r)):
		return &address{name: name, t: m}
	}
	return x.allowed(t, path)
}

// partsOf are the segments of a path.
func partsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// verbsOf are the verbs at the address Service/Method.
func verbsOf(m *target) []string {
	if m.Idempotent && (m.Kind == weft.Unary || m.Kind == weft.ServerStream) {
		return []string{nethttp.MethodPost, nethttp.MethodGet, nethttp.MethodHead}
	}
	return []string{nethttp.MethodPost}
}

// allowed finds the verbs of an address.
func (x *connection) allowed(t *table, path string) *address {
	a := &address{allow: t.routes.Verbs(partsOf(path))}
	if rest, ok := strings.CutPrefix(path, x.d.cfg.Prefix); ok {
		if m := t.methods[methodAt(strings.Split(rest, "/"))]; m != nil {
			a.allow = append(a.allow, verbsOf(m)...)
		}
	}
	slices.Sort(a.allow)
	a.allow = slices.Compact(a.allow)
	return a
}
