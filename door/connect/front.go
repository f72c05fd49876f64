package connect

import (
	nethttp "net/http"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/turns"
)

// connection is what answers the requests of Connect and gRPC-Web on one connection.
type connection struct {
	*weft.DoorConn
	d    *door
	next nethttp.Handler
	held atomic.Int64 // bytes of requests whose length was not told and of messages of streams, that are being read

	turns turns.Turns // of replies that are encoded
	fence fence.Fence // contains what Config.Leading does
}

// front makes the handler that gets the requests of a connection first; outer is that of the
// configuration of package http, if it has one.
func (d *door) front(outer func(*weft.DoorConn, nethttp.Handler) nethttp.Handler) func(*weft.DoorConn, nethttp.Handler) nethttp.Handler {
	return func(c *weft.DoorConn, next nethttp.Handler) nethttp.Handler {
		var h nethttp.Handler = &connection{DoorConn: c, d: d, next: next, fence: fence.Fence{Log: c.Logger()}}
		if outer != nil {
			h = outer(c, h)
		}
		return h
	}
}

// ServeHTTP answers one request.
func (x *connection) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method == nethttp.MethodOptions && x.preflight(w, r) {
		return
	}
	t := x.table()
	m := t.find(r.URL.Path, x.d.cfg.Prefix)
	name, info := m.name, m.info
	form, ok := x.formOf(t, r)
	if !ok || name == "" || form.lenient && x.d.cfg.HTTP != nil {
		x.notOurs(w, r, name, info)
		return
	}
	if x.d.cors.Answer(w, r, nil) {
		return
	}
	in := &inbound{x: x, w: w, r: r, form: form, method: m, control: *nethttp.NewResponseController(w)}
	if info != nil {
		in.kind = info.Kind
	}
	if form.get && (info == nil || !info.Idempotent || info.Kind != weft.Unary) {
		set(w.Header(), "Allow", nethttp.MethodPost)
		in.refuseStatus(nethttp.StatusMethodNotAllowed, refusal(weft.Unimplemented, "", "%s is no unary method registered as idempotent: it is called by POST", httpfield.Clip(name)))
		return
	}
	if form.protocol == unary && info != nil && info.Kind != weft.Unary || form.protocol == streaming && info != nil && info.Kind == weft.Unary {
		set(w.Header(), "Accept-Post", x.accepted(info))
		in.refuseStatus(nethttp.StatusUnsupportedMediaType, refusal(weft.Unimplemented, weft.ReasonWrongKind,
			"the Content-Type %q does not fit the kind of %s; it takes %s", httpfield.Clip(r.Header.Get("Content-Type")), httpfield.Clip(name), x.accepted(info)))
		return
	}
	in.serve()
}

// preflight answers the question of a browser whether it may send a request to a method.
func (x *connection) preflight(w nethttp.ResponseWriter, r *nethttp.Request) (done bool) {
	m := x.table().find(r.URL.Path, x.d.cfg.Prefix)
	name, info := m.name, m.info
	if name == "" || info == nil && x.d.cfg.HTTP != nil || len(x.d.cors.Origins) == 0 {
		return false
	}
	return x.d.cors.Answer(w, r, verbsOf(info))
}

func verbsOf(info *weft.MethodInfo) []string {
	if info != nil && info.Idempotent && info.Kind == weft.Unary {
		return []string{nethttp.MethodPost, nethttp.MethodGet}
	}
	return []string{nethttp.MethodPost}
}

// notOurs answers or passes on what is a request of none of the protocols.
func (x *connection) notOurs(w nethttp.ResponseWriter, r *nethttp.Request, name string, info *weft.MethodInfo) {
	if x.d.cfg.HTTP != nil {
		x.next.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	x.d.cors.Answer(w, r, verbsOf(info))
	switch {
	case name == "" || info == nil && r.Method != nethttp.MethodPost:
		nethttp.Error(w, "there is nothing here; a method is called by POST "+x.d.cfg.Prefix+"pkg.Service/Method", nethttp.StatusNotFound)
	case r.Method != nethttp.MethodPost:
		set(h, "Allow", strings.Join(verbsOf(info), ", "))
		nethttp.Error(w, "the method is called by "+strings.Join(verbsOf(info), " or "), nethttp.StatusMethodNotAllowed)
	default:
		set(h, "Accept-Post", x.accepted(info))
		nethttp.Error(w, "the Content-Type is not one of Connect and gRPC-Web; there are "+x.accepted(info), nethttp.StatusUnsupportedMediaType)
	}
}

// accepted lists the content types of a method.
func (x *connection) accepted(info *weft.MethodInfo) string {
	names := []string{"proto", "json"}
	for _, c := range x.Codecs() {
		if n := c.Name(); n != "protobuf" && n != "json" && n != "raw" {
			names = append(names, n)
		}
	}
	var all []string
	for _, n := range names {
		if info == nil || info.Kind == weft.Unary {
			all = append(all, "application/"+n)
		} else {
			all = append(all, "application/connect+"+n)
		}
		all = append(all, "application/grpc-web+"+n)
	}
	return strings.Join(all, ", ")
}
