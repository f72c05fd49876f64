package http

import (
	"embed"
	nethttp "net/http"
	"strconv"

	"github.com/weftrpc/weft"
)

// docs is the page that shows the description.
//
//go:embed docs
var docs embed.FS

// pagePolicy lets the page load and call its own server alone.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page answers the requests that the door has paths of its own for.
func (x *connection) page(t *table, w nethttp.ResponseWriter, r *nethttp.Request) bool {
	switch path := r.URL.Path; {
	case path == "/healthz" && x.d.probes():
		health(w, r, nil)
	case path == "/readyz" && x.d.probes():
		health(w, r, x.ready())
	case x.d.cfg.OpenAPI == nil || r.Method != nethttp.MethodGet && r.Method != nethttp.MethodHead:
		return false
	case path == "/openapi.json":
		if x.d.cors.Answer(w, r, []string{nethttp.MethodGet}) {
			return true
		}
		if err := samePage(x.d.cors.Check, r); err != nil {
			writeProblem(w, err)
			return true
		}
		b, err := t.doc()
		if err != nil {
			writeProblem(w, weft.Errorf(weft.Internal, "the description cannot be made: %w", err))
			return true
		}
		file(w, r, typeJSON, b)
	case path == "/docs":
		file(w, r, "text/html; charset=utf-8", embedded("docs/page.html"))
	case path == "/docs/page.js":
		file(w, r, "text/javascript; charset=utf-8", embedded("docs/page.js"))
	case path == "/docs/page.css":
		file(w, r, "text/css; charset=utf-8", embedded("docs/page.css"))
	default:
		return false
	}
	return true
}

func embedded(name string) []byte {
	b, err := docs.ReadFile(name)
	if err != nil {
		return nil // it is embedded
	}
	return b
}

// file answers with bytes that a client may keep while they do not change.
func file(w nethttp.ResponseWriter, r *nethttp.Request, kind string, b []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	tag := tagOf(b)
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(nethttp.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // an error is that of the connection
}
