package http

import (
	nethttp "net/http"
	"slices"
	"strings"
)

// cors lets pages of other origins in, and answers the question of a browser whether it may send
// a request. done says that the request has been answered.
func (d *door) cors(w nethttp.ResponseWriter, r *nethttp.Request, verbs []string) (done bool) {
	asked := r.Header.Get("Access-Control-Request-Method")
	preflight := r.Method == nethttp.MethodOptions && asked != ""
	if len(d.cfg.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	if !d.mayCall(origin) {
		if preflight {
			w.WriteHeader(nethttp.StatusNoContent) // without the headers that would allow it
		}
		return preflight
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if slices.Contains(d.cfg.Origins, "*") {
		h.Set("Access-Control-Allow-Origin", "*")
	}
	h.Set("Access-Control-Expose-Headers", "*") // credentials of the browser, which this excludes, are never allowed
	if !preflight {
		return false
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(verbs, ", "))
	if headers := r.Header.Get("Access-Control-Request-Headers"); headers != "" {
		h.Set("Access-Control-Allow-Headers", headers)
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(nethttp.StatusNoContent)
	return true
}

// mayCall reports whether the pages of an origin may call methods.
func (d *door) mayCall(origin string) bool {
	for _, allowed := range d.cfg.Origins {
		scheme, domain, wild := strings.Cut(allowed, "://*.")
		if allowed == "*" || allowed == origin || wild && strings.HasPrefix(origin, scheme+"://") && strings.HasSuffix(origin, "."+domain) {
			return true
		}
	}
	return false
}
