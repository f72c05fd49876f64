package weft

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// defaultTransports are what addresses can name without configuration.
func defaultTransports() []transport.Transport {
	return []transport.Transport{tcp.New(nil), unix.New(nil)}
}

// address is what an address such as "tcp://127.0.0.1:8972" names.
type address struct {
	wire      Wire // nil: weft's own
	transport transport.Transport
	rest      string // what is behind "://"
}

// parseAddress finds the wire and the transport of an address. One without a scheme
// is one of TCP. A scheme is that of a transport, that of a wire, which stands for TCP,
// or both with a plus sign between them.
func parseAddress(transports []transport.Transport, wires []Wire, text string) (address, error) {
	if text == "" {
		return address{}, fmt.Errorf("weft: the address is empty; write for example tcp://127.0.0.1:8972")
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "tcp", text
	}
	if kind, hostPort, found := strings.Cut(text, "@"); found && !ok {
		// The form of rpcx: tcp@127.0.0.1:8972.
		if _, _, err := net.SplitHostPort(hostPort); err == nil && kind != "" && !strings.ContainsAny(kind, ":/") {
			return address{}, fmt.Errorf("weft: address %q: write %s://%s", text, kind, hostPort)
		}
	}
	a := address{rest: rest}
	name, carrier, _ := strings.Cut(scheme, "+")
	for _, w := range wires {
		if w.Scheme() == scheme { // such as netrpc+http, which goes before a transport http
			a.wire, scheme = w, "tcp"
			break
		}
	}
	for _, w := range wires {
		if a.wire == nil && w.Scheme() == name {
			a.wire, scheme = w, orDefault(carrier, "tcp")
		}
	}
	for _, t := range transports {
		if t.Scheme() != scheme {
			continue
		}
		if _, _, err := net.SplitHostPort(rest); err != nil && scheme == "tcp" {
			reason := err.Error()
			if e, ok := errors.AsType[*net.AddrError](err); ok {
				reason = e.Err
			}
			return a, fmt.Errorf("weft: address %q: %s: write host:port, for example 127.0.0.1:8972", text, reason)
		}
		a.transport = t
		return a, nil
	}
	var known []string
	for _, t := range transports {
		known = append(known, t.Scheme())
	}
	for _, w := range wires {
		known = append(known, w.Scheme())
	}
	return a, fmt.Errorf("weft: address %q: no transport or wire has the scheme %q; there are %s", text, scheme, strings.Join(known, ", "))
}

// schemesOf is the set of the schemes of transports.
func schemesOf(transports []transport.Transport) map[string]bool {
	set := make(map[string]bool, len(transports))
	for _, t := range transports {
		set[t.Scheme()] = true
	}
	return set
}
