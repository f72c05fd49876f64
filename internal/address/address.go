// Package address finds the wire and the transport that an address names.
package address

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Schemer is a wire or a transport, which addresses name by its scheme.
type Schemer interface{ Scheme() string }

// Pather is a wire whose addresses may have a path.
type Pather interface{ TakesPath() bool }

// Target is what an address names.
type Target[T, W Schemer] struct {
	Wire      W // the zero value: weft's own
	Transport T
	Rest      string // what is behind "://", up to the path
	Path      string // of a wire that takes it, with the query, over TCP; "": there is none
}

// Parse finds the wire and the transport of an address such as "tcp://127.0.0.1:8972". One without a
// scheme is one of TCP. A scheme is that of a transport, that of a wire, which stands for TCP, or both
// with a plus sign between them. A path may stand behind the host and port if the wire is a Pather.
func Parse[T, W Schemer](transports []T, wires []W, text string) (Target[T, W], error) {
	var a Target[T, W]
	if text == "" {
		return a, errors.New("weft: the address is empty; write for example tcp://127.0.0.1:8972")
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "tcp", text
	}
	if kind, hostPort, found := strings.Cut(text, "@"); found && !ok {
		// The form of rpcx: tcp@127.0.0.1:8972.
		hostPort, _, _ = strings.Cut(hostPort, "?")
		if _, _, err := net.SplitHostPort(hostPort); err == nil && kind != "" && !strings.ContainsAny(kind, ":/") {
			known := append(schemes(transports), schemes(wires)...)
			if !slices.Contains(known, kind) { // it may be a secret
				return a, fmt.Errorf("weft: address %q: write host:port, or scheme://host:port; the schemes are %s", shown(text), strings.Join(known, ", "))
			}
			return a, fmt.Errorf("weft: address %q: write %s://%s", kind+"@"+hostPort, kind, hostPort)
		}
	}
	a.Rest = rest
	var carrier string
	if a.Wire, carrier, ok = wireOf(wires, scheme); ok {
		scheme = carrier
		if p, ok := any(a.Wire).(Pather); ok && scheme == "tcp" && p.TakesPath() {
			if i := strings.IndexAny(rest, "/?"); i >= 0 {
				rest, a.Path = rest[:i], rest[i:]
				a.Rest = rest
			}
		}
	}
	for _, t := range transports {
		if t.Scheme() != scheme {
			continue
		}
		err := checkHostPort(rest)
		if err != nil && scheme == "tcp" {
			reason := err.Error()
			if e, ok := errors.AsType[*net.AddrError](err); ok {
				reason = e.Err
			}
			return a, fmt.Errorf("weft: address %q: %s: write host:port, for example 127.0.0.1:8972", shown(text), reason)
		}
		a.Transport = t
		return a, nil
	}
	known := append(schemes(transports), schemes(wires)...)
	return a, fmt.Errorf("weft: address %q: no transport or wire has the scheme %q; there are %s", shown(text), scheme, strings.Join(known, ", "))
}

// checkHostPort says what is wrong with a host and port.
func checkHostPort(text string) error {
	_, port, err := net.SplitHostPort(text)
	switch {
	case err != nil:
		return err
	case strings.Contains(text, "?"):
		return errors.New("it has a query, which is for a wire that takes a path")
	case strings.Contains(port, "/"):
		return errors.New("it has a path, which is for a wire that takes one")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("the port %q is neither a number up to 65535 nor the name of a service", port)
	}
	return nil
}

// shown is an address as an error shows it: without its query and what stands before an "@", which may hold secrets.
func shown(text string) string {
	text, _, query := strings.Cut(text, "?")
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		rest = text
	}
	if i := strings.LastIndexByte(rest, '@'); i > 0 && rest[0] != '/' { // a path may have one too
		text = "…" + rest[i:]
		if ok {
			text = scheme + "://" + text
		}
	}
	if query {
		text += "?…"
	}
	return text
}

// wireOf finds the wire that a scheme names, and the scheme of the transport that carries it.
func wireOf[W Schemer](wires []W, scheme string) (w W, carrier string, ok bool) {
	for _, w := range wires {
		if w.Scheme() == scheme { // such as netrpc+http, which goes before a transport http
			return w, "tcp", true
		}
	}
	name, carrier, _ := strings.Cut(scheme, "+")
	if carrier == "" {
		carrier = "tcp"
	}
	for _, w := range wires {
		if w.Scheme() == name {
			return w, carrier, true
		}
	}
	return w, "", false
}

func schemes[S Schemer](all []S) []string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.Scheme())
	}
	return names
}
