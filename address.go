package weft

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// defaultTransports are what addresses can name without configuration.
func defaultTransports() []transport.Transport {
	return []transport.Transport{tcp.New(nil), unix.New(nil)}
}

// transportFor finds the transport for an address such as "tcp://127.0.0.1:8972"
// or "unix:///run/app.sock". An address without a scheme is one of TCP.
func transportFor(all []transport.Transport, address string) (transport.Transport, string, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "tcp", address
	}
	var known []string
	for _, t := range all {
		if t.Scheme() == scheme {
			return t, rest, nil
		}
		known = append(known, t.Scheme())
	}
	return nil, "", fmt.Errorf("weft: address %q: no transport for scheme %q; there are %s", address, scheme, strings.Join(known, ", "))
}
