// Package cors decides which pages in browsers may call a door of HTTP, and tells browsers so.
package cors

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Policy is what a door allows pages of other origins. Its methods may be called concurrently.
type Policy struct {
	// Origins are exact ones, as "https://app.example.com", those of a domain, as
	// "https://*.example.com", or "*" for all; empty: none.
	Origins []string
	// Hosts are the names by which clients call the server: exact ones, as "api.example.com", those of a domain,
	// as "*.example.com", or "*" for all. Empty: see Check.
	Hosts []string

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
// call. Without Hosts that can also be a page of the same origin, if its name may have been given the
// address of this server (DNS rebinding).
func (p *Policy) Check(r *http.Request) error {
	if p.allows(r.Header.Get("Origin")) {
		return nil
	}
	if err := p.guard.Check(r); err != nil {
		return fmt.Errorf("%w; Config.Origins of the door names the origins of pages that may call", err)
	}
	if len(p.Hosts) == 0 && rebindable(r) {
		return fmt.Errorf("a page at http://%.64s asks, and the server does not know that this is its name: name it in Config.Hosts of the door, "+
			"or serve it by TLS", r.Host)
	}
	return nil
}

// rebindable reports whether a request may be one of a page whose name was given the address of this server.
// Browsers send such requests without TLS alone, since the server has no certificate of that name:
//
//   - with an Origin of http, if they are not GET;
//   - otherwise without Sec-Fetch-Site, which they send to origins of TLS and to this machine.
func rebindable(r *http.Request) bool {
	if r.TLS != nil {
		return false
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if strings.HasPrefix(origin, "https://") {
			return false
		}
	} else if !strings.HasPrefix(r.Header.Get("User-Agent"), "Mozilla/") || r.Header.Get("Sec-Fetch-Site") != "" {
		return false
	}
	return !unowned(nameOf(r.Host))
}

// unowned reports whether a name cannot be registered in the public DNS: an IP address, one of this
// machine, or one of a private network.
func unowned(name string) bool {
	return own(name) || !strings.Contains(name, ".") || strings.HasSuffix(name, ".internal")
}

// own reports whether a name is an IP address or one of this machine.
func own(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// nameOf is the name in a Host, in lower case.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// CheckHost returns an error for a request whose Host is none of Hosts, if there are any. IP addresses and names of
// this machine, which no page can have as its own, are always among them.
func (p *Policy) CheckHost(r *http.Request) error {
	if len(p.Hosts) == 0 {
		return nil
	}
	name := nameOf(r.Host)
	if own(name) {
		return nil
	}
	for _, h := range p.Hosts {
		h = strings.ToLower(h)
		domain, wild := strings.CutPrefix(h, "*.")
		if h == "*" || h == name || wild && strings.HasSuffix(name, "."+domain) {
			return nil
		}
	}
	return errors.New("the Host of the request is not one of Config.Hosts of the door, which names those by which clients call the server")
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
