package weft

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Instance is one server's registration of one service: what a registry keeps and
// what clients choose by. In a registry it is an object of JSON with these names.
type Instance struct {
	// Service is the name of the service, "Arith" of the method "Arith.Mul".
	Service string `json:"service"`
	// ID tells the instances of a service apart; "" in a configuration: the address.
	// A server that comes back with the same ID takes its old place.
	ID string `json:"id"`
	// Address is where clients connect to, such as "tcp://10.0.0.7:8972".
	Address string `json:"address"`

	// Weight is the share of calls relative to the other instances. 0 means
	// DefaultWeight; below zero: calls only when no other instance is left.
	Weight int `json:"weight,omitempty"`
	// Group, Version and Zone are names that clients and rules can ask for. The
	// zone is where a failure takes all instances at once.
	Group   string `json:"group,omitempty"`
	Version string `json:"version,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// Position is where the server stands on Earth; nil: nobody knows.
	Position *Position `json:"position,omitempty"`
	// Tags are further names with values, for rules.
	Tags map[string]string `json:"tags,omitempty"`

	// State says whether calls are wanted.
	State State `json:"state,omitempty"`
	// Load is what the server last said of its work; nil: it says nothing.
	Load *Load `json:"load,omitempty"`
}

// DefaultWeight is the weight of an instance that names none.
const DefaultWeight = 100

// Position is a place on Earth, in degrees: north and east are above zero.
type Position struct {
	Latitude  float64 `json:"lat"`
	Longitude float64 `json:"lon"`
}

// Load is what a server reports of its work, for the whole server, not one
// service. Servers report seldom, and only what has changed a good deal; see
// ServerConfig.LoadReportInterval.
type Load struct {
	InFlight int           `json:"in_flight"`  // calls that run now
	Rate     float64       `json:"rate"`       // calls a second since the last report
	Latency  time.Duration `json:"latency_ns"` // the mean time of these calls in the server
}

// State says whether an instance wants calls.
type State uint8

// The states.
const (
	On       State = iota // calls are welcome
	Draining              // no calls, unless there is no other instance
	Off                   // no calls at all
)

// String is "on", "draining" or "off".
func (s State) String() string {
	switch s {
	case On:
		return "on"
	case Draining:
		return "draining"
	case Off:
		return "off"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText is String as bytes.
func (s State) MarshalText() ([]byte, error) {
	if s > Off {
		return nil, Errorf(InvalidArgument, "weft: there is no instance state %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	for known := On; known <= Off; known++ {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return Errorf(InvalidArgument, "weft: instance state %q: want on, draining or off", text)
}

// Limits of an instance.
const (
	maxInstanceName = 255     // bytes of each name, tag and value
	maxInstanceTags = 64      // tags
	maxWeight       = 1 << 20 // far above any use, far below overflow
)

// Check tells what is wrong with an instance: the service and the address must be
// there and of their forms, names be short UTF-8 without control characters, and
// numbers be in their range.
func (i *Instance) Check() error {
	wrong := func(format string, args ...any) error {
		return Errorf(InvalidArgument, "weft: instance %q of service %q: %s", i.ID, i.Service, fmt.Sprintf(format, args...))
	}
	if err := checkName(i.Service + ".M"); err != nil {
		return wrong("the service needs a name such as \"Arith\"")
	}
	u, err := url.Parse(i.Address)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Path == "" {
		return wrong("address %q is not like \"tcp://10.0.0.7:8972\"", i.Address)
	}
	names := []struct{ what, value string }{
		{"ID", i.ID}, {"address", i.Address}, {"group", i.Group}, {"version", i.Version}, {"zone", i.Zone},
	}
	for k, v := range i.Tags {
		names = append(names, struct{ what, value string }{"tag", k}, struct{ what, value string }{"value of tag " + k, v})
	}
	for _, n := range names {
		switch {
		case len(n.value) > maxInstanceName:
			return wrong("the %s has %d bytes, at most %d are allowed", n.what, len(n.value), maxInstanceName)
		case !utf8.ValidString(n.value) || strings.ContainsFunc(n.value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return wrong("the %s %q has bytes that are not printable text", n.what, n.value)
		}
	}
	p := i.Position
	switch {
	case i.ID == "":
		return wrong("it has no ID")
	case len(i.Tags) > maxInstanceTags:
		return wrong("it has %d tags, at most %d are allowed", len(i.Tags), maxInstanceTags)
	case i.Weight > maxWeight:
		return wrong("weight %d is above %d", i.Weight, maxWeight)
	case i.State > Off:
		return wrong("there is no state %d", uint8(i.State))
	case p != nil && !(math.Abs(p.Latitude) <= 90 && math.Abs(p.Longitude) <= 180):
		return wrong("position %v, %v is not on Earth", p.Latitude, p.Longitude)
	}
	return nil
}

// Clone returns a copy that shares nothing with the instance.
func (i *Instance) Clone() Instance {
	c := *i
	c.Tags = maps.Clone(i.Tags)
	if i.Position != nil {
		p := *i.Position
		c.Position = &p
	}
	if i.Load != nil {
		l := *i.Load
		c.Load = &l
	}
	return c
}

// Equal reports whether two instances say the same.
func (i *Instance) Equal(o *Instance) bool {
	same := func(a, b *Position) bool { return a == b || a != nil && b != nil && *a == *b }
	load := func(a, b *Load) bool { return a == b || a != nil && b != nil && *a == *b }
	return i.Service == o.Service && i.ID == o.ID && i.Address == o.Address && i.Weight == o.Weight &&
		i.Group == o.Group && i.Version == o.Version && i.Zone == o.Zone && same(i.Position, o.Position) &&
		maps.Equal(i.Tags, o.Tags) && i.State == o.State && load(i.Load, o.Load)
}
