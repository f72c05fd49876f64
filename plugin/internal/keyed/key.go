package keyed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Key is what a call is counted under: a name, or an address.
type Key struct {
	name string
	addr netip.Addr // of IPv6 the first of its /64, since a host has all addresses of its own
}

// A name may have been chosen by its caller. Of one with more than mostName bytes, keptName and a hash are kept.
const (
	mostName = 256
	keptName = 64
)

func keyOfName(name string) Key {
	if len(name) > mostName {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:keptName], "") + "…" + hex.EncodeToString(sum[:])
	}
	return Key{name: name}
}

func keyOfIP(ip netip.Addr) Key {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		p, _ := ip.Prefix(64) // an error is that of a wrong length
		ip = p.Addr()
	}
	return Key{addr: ip}
}

// keyOfAddress is the key of the address of a peer, whatever the port. One without an IP address, such as that of a
// Unix socket, is a name.
func keyOfAddress(a net.Addr) Key {
	if t, ok := a.(interface{ AddrPort() netip.AddrPort }); ok { // of TCP or UDP
		if ip := t.AddrPort().Addr(); ip.IsValid() {
			return keyOfIP(ip)
		}
	}
	text := a.String()
	if p, err := netip.ParseAddrPort(text); err == nil {
		return keyOfIP(p.Addr())
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	return keyOfName(text)
}

// Parse is the key of a text: that which String gives, an address of a prefix, or what a configuration names.
func (b By) Parse(text string) (Key, error) {
	if b != Address {
		return keyOfName(text), nil
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return keyOfIP(ip), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return keyOfName(text), nil // such as that of a Unix socket
	}
	if ip := p.Addr(); p.IsSingleIP() || ip.Is6() && !ip.Is4In6() && p.Bits() == 64 {
		return keyOfIP(ip), nil
	}
	return Key{}, fmt.Errorf("%s is no single address, and no /64 of IPv6", text)
}

// String is the name, or the address: of IPv6 its /64.
func (k Key) String() string {
	switch {
	case k.addr.Is6():
		return netip.PrefixFrom(k.addr, 64).String()
	case k.addr.IsValid():
		return k.addr.String()
	}
	return k.name
}

// Clone is the key with memory of its own: a name may be a part of what a request carried.
func (k Key) Clone() Key {
	k.name = strings.Clone(k.name)
	return k
}
