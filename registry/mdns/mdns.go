// Package mdns lets servers announce themselves on the local network, by multicast
// DNS: there is no server of a registry, and nothing to set up.
//
//	r, err := mdns.New(nil)
//
// It is for the machines of one network segment: a desk, a lab, a factory floor.
// Multicast goes no further, and many clouds and wireless networks do not let it
// through at all. Every machine of the segment can announce anything: let TLS
// authenticate the servers.
//
// # What is on the wire
//
// It is Multicast DNS (RFC 6762) by IPv4, and DNS-based service discovery (RFC 6763),
// so that tools such as avahi-browse and dns-sd show what is there. All instances are
// of type _weft._tcp, and those of a service of a subtype. A service Arith has
//
//	name                                              type  content
//	_services._dns-sd._udp.local.                     PTR   _weft._tcp.local.
//	_weft._tcp.local.                                 PTR   the name of each instance
//	_arith-0123456789abcdef._sub._weft._tcp.local.    PTR   the same
//	arith-0123456789abcdef-[digest]._weft._tcp.local. TXT   from=…, and the JSON of the instance in parts 0=…, 1=…
//	arith-0123456789abcdef-[digest]._weft._tcp.local. SRV   host and port, if its address has them
//	arith-0123456789abcdef-[digest].local.            A     or AAAA, if the address is an IP address
//
// Services and IDs can be any text, which names of DNS cannot: names have digests of
// them, which nothing else makes. They are therefore not probed for.
//
// A server multicasts its records when it registers, again one and three seconds
// later, whenever the registration is refreshed, and upon a question, but then at
// most once a second. When it withdraws it says goodbye, and clients forget it at
// once; one that falls silent is forgotten when its time to live is over.
//
// A client asks when it begins, one second later, and then less and less often, at
// least once a minute; it also asks for what is about to run out. Its first list is
// complete, for what it can know, after 1.25 s.
//
// # Limits
//
// The JSON of an instance can have 8000 bytes. Above about 1000 it no longer fits in
// one frame of an Ethernet, and travels in fragments. A client keeps 1024 instances
// of a service, which take at most 9 MB. Messages of more than about 9000 bytes, those
// that make no sense, those that were not sent to the multicast group and announcements
// from another port than 5353 are ignored. A time to live of more than an hour is an
// hour.
package mdns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/registry"
)

// Config says where to announce and listen. The zero value, and a nil pointer to one,
// give the defaults.
type Config struct {
	// Interfaces are the names of the network interfaces to use. None: all that are
	// up, can multicast and have an IPv4 address; if there are none, the loopback
	// interface. They need not be up when New is called.
	Interfaces []string

	// Registry is how registrations and lists are kept.
	Registry registry.Config
}

// New makes a registry of the local network. It uses the network no sooner than
// something is registered or watched; an error says what is wrong with cfg. All methods
// of the registry may be called at the same time.
func New(cfg *Config) (*registry.Registry, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if slices.Contains(cfg.Interfaces, "") {
		return nil, fmt.Errorf("mdns: Config.Interfaces %q has an empty name", cfg.Interfaces)
	}
	name := "mdns"
	if len(cfg.Interfaces) > 0 {
		name += " on " + strings.Join(cfg.Interfaces, ", ")
	}
	return registry.New(name, newDriver(cfg.Interfaces), &cfg.Registry)
}
