package http

import (
	"errors"
	nethttp "net/http"
)

// probes reports whether the door answers /healthz and /readyz by itself. Otherwise they belong to
// Config.Handler, whose answers the door cannot know.
func (d *door) probes() bool { return d.cfg.Handler == nil || d.cfg.Ready != nil }

// ready is why the server should get no more work now; nil if it should.
func (x *connection) ready() error {
	if x.draining() {
		return errors.New("the server is shutting down")
	}
	if x.d.cfg.Ready != nil {
		return x.d.cfg.Ready()
	}
	return nil
}

// health answers the question of an orchestrator.
func health(w nethttp.ResponseWriter, r *nethttp.Request, why error) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.Method != nethttp.MethodGet && r.Method != nethttp.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(nethttp.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if why != nil {
		w.WriteHeader(nethttp.StatusServiceUnavailable)
		_, _ = w.Write([]byte(why.Error() + "\n")) // an error is that of the connection
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
