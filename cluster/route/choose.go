package route

import (
	"math/bits"

	"github.com/weftrpc/weft"
)

// index finds the routes that may take a call without looking at each: there are
// at most 64 of them, so a set of routes is a word.
type index struct {
	named    map[string]uint64 // by method that a route names: those that may take it
	patterns []int             // the routes that ask for methods by a pattern
	every    uint64            // those that ask for no method
	bare     uint64            // those that hold, as to metadata, when a call has none that is asked for
}

func newIndex(routes []route, rules []RouteRule) index {
	x := index{named: make(map[string]uint64)}
	var none metadata
	for i := range routes {
		rt := &routes[i]
		if rt.conditionsHold(&none) {
			x.bare |= 1 << i
		}
		if rt.methods == nil {
			x.every |= 1 << i
		} else if len(rt.methods.globs) > 0 {
			x.patterns = append(x.patterns, i)
		}
		for _, name := range rules[i].When.Methods {
			x.named[name] = 0
		}
	}
	for name := range x.named {
		for i := range routes {
			if m := routes[i].methods; m == nil || m.match(name) {
				x.named[name] |= 1 << i
			}
		}
	}
	return x
}

// forMethod is the set of routes that may take the calls of a method.
func (r *Rules) forMethod(name string) uint64 {
	if set, ok := r.index.named[name]; ok {
		return set
	}
	set := r.index.every
	for _, i := range r.index.patterns {
		if r.routes[i].methods.match(name) {
			set |= 1 << i
		}
	}
	return set
}

// choose returns the route that takes a call, None for none, and the side.
func (r *Rules) choose(call *Call) (at, side int) {
	if r == nil || len(r.routes) == 0 {
		return None, None
	}
	set := r.forMethod(methodOf(call.Method))
	var seen metadata
	if len(r.keys) > 0 {
		seen.read(r.keys, call.Metadata)
	}
	if seen.found == 0 {
		set &= r.index.bare
	}
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if rt := &r.routes[i]; seen.found == 0 || rt.conditionsHold(&seen) {
			return i, rt.sideOf(call, &seen)
		}
	}
	return None, None
}

func (rt *route) conditionsHold(seen *metadata) bool {
	for i := range rt.conditions {
		if c := &rt.conditions[i]; !c.in.match(seen.values[c.key]) {
			return false
		}
	}
	return true
}

func (rt *route) sideOf(call *Call, seen *metadata) int {
	if len(rt.sides) == 1 {
		return 0
	}
	key, _ := rt.key(call, seen)
	return rt.sideAt(rt.placeOf(key, call.Random))
}

// key returns what keeps a call on its side, "" for nothing, and whether it is the
// value of the metadata.
func (rt *route) key(call *Call, seen *metadata) (key string, fromMetadata bool) {
	if rt.by != None && seen.values[rt.by] != "" {
		return seen.values[rt.by], true
	}
	return call.Key, false
}

// metadata is what a call has of the keys that rules ask for.
type metadata struct {
	found  uint32          // the keys that it has, a bit for each
	values [maxKeys]string // by index of the key, "" for none
}

// read takes the first value of each key.
func (m *metadata) read(keys []string, from weft.Metadata) {
	for k, v := range from.All() {
		for i, key := range keys {
			if bit := uint32(1) << i; k == key && m.found&bit == 0 {
				m.found |= bit
				m.values[i] = v
			}
		}
	}
}
