// Package cors decides which pages of other origins may call a door of HTTP, and tells browsers so.
package cors

import (
	"net/http"
	"slices"
	"strings"
)

// Policy is what a door allows pages of other origins. Its methods may be called concurrently.
type Policy struct {
	// Origins are exact ones, as "https://app.example.com", those of a domain, as
	// "https://*.example.com", or "*" for all; empty: none.
	Origins []string

	guard http.CrossOriginProtection
}

// Answer adds what a browser must know to the header of an answer, and answers the question of a
// browser whether it may send a request by one of the verbs. done says that the request has been
// answered.
func (p *Policy) Answer(w http.ResponseWriter, r *http.Request, verbs []string) (done bool) {
	asked := r.Header.Get("Access-Control-Request-Method")
	preflight := r.Method == http.MethodOptions && asked != ""
	if len(p.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	if !p.allows(origin) {
		if preflight {
			w.WriteHeader(http.StatusNoContent) // without the headers that would allow it
		}
		return preflight
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if slices.Contains(p.Origins, "*") {
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
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Check returns an error for a request that a browser sends for a page of an origin which may not
// call.
func (p *Policy) Check(r *http.Request) error {
	if p.allows(r.Header.Get("Origin")) {
		return nil
	}
	return p.guard.Check(r)
}

// CheckCall is Check for a request that makes a call whatever its verb: pages of other origins can send a GET
// by an image or a link, and the call may change something.
func (p *Policy) CheckCall(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return p.Check(r)
	}
	call := *r
	call.Method = http.MethodPost
	return p.Check(&call)
}

// allows reports whether the pages of an origin may call.
func (p *Policy) allows(origin string) bool {
	for _, allowed := range p.Origins {
		scheme, domain, wild := strings.Cut(allowed, "://*.")
		if allowed == "*" || allowed == origin || wild && strings.HasPrefix(origin, scheme+"://") && strings.HasSuffix(origin, "."+domain) {
			return true
		}
	}
	return false
}
