// Package reachable finds the address at which clients reach a listener.
package reachable

import (
	"fmt"
	"net"
	"slices"
)

// Address makes an address that clients can use of the one that a listener of a
// transport has. One that listens everywhere is reached at an address of this
// machine, whatever the transport does on top of TCP.
func Address(addr net.Addr, scheme string) (string, error) {
	if addr.Network() != "tcp" {
		return scheme + "://" + addr.String(), nil
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", fmt.Errorf("address %v: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		return scheme + "://" + net.JoinHostPort(host, port), nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("the server listens on every address, and those of this machine cannot be read; set Instance.Address: %w", err)
	}
	return scheme + "://" + net.JoinHostPort(preferred(own), port), nil
}

// preferred chooses the address of a machine at which others are likely to reach
// it: an IPv4 address rather than an IPv6 one, and the loopback only when there is
// no other.
func preferred(own []net.Addr) string {
	var ips []net.IP
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && (n.IP.IsGlobalUnicast() || n.IP.IsLoopback()) {
			ips = append(ips, n.IP)
		}
	}
	rank := func(ip net.IP) int {
		switch {
		case ip.IsLoopback():
			return 2
		case ip.To4() == nil:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ips, func(a, b net.IP) int { return rank(a) - rank(b) })
	if len(ips) == 0 {
		return "127.0.0.1"
	}
	return ips[0].String()
}
