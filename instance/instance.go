// Package instance is what a registry knows of a server: its [Instance] for each of its
// services, with [State], [Load] and [Position]. Servers, registries, clients and
// balancers share these types; package weft has them under the same names.
package instance

import (
	"maps"
	"slices"
	"time"
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
	// Position is where the server stands on Earth; nil: not known.
	Position *Position `json:"position,omitempty"`
	// Tags are further names with values, for rules.
	Tags map[string]string `json:"tags,omitempty"`
	// Idempotent are the methods of the service, named without it, that can be called
	// again without another effect, so that clients may repeat calls whose outcome they
	// do not know. All ("*") is every method; see AddIdempotent.
	Idempotent []string `json:"idempotent,omitempty"`

	// State says whether calls are wanted.
	State State `json:"state,omitempty"`
	// Started is when the server began to serve, by its own clock; zero: not known. A
	// client lets one that has just started begin slowly, also when it has found it in
	// its first list.
	Started time.Time `json:"started,omitzero"`
	// Load is what the server last reported of its work; nil: it reports nothing.
	Load *Load `json:"load,omitempty"`
}

// DefaultWeight is the weight of an instance that names none.
const DefaultWeight = 100

// Clone returns a copy that shares nothing with the instance.
func (i *Instance) Clone() Instance {
	c := *i
	c.Tags = maps.Clone(i.Tags)
	c.Idempotent = slices.Clone(i.Idempotent)
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
		maps.Equal(i.Tags, o.Tags) && slices.Equal(i.Idempotent, o.Idempotent) && i.State == o.State && i.Started.Equal(o.Started) && load(i.Load, o.Load)
}
