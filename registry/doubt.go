package registry

import (
	"slices"
	"time"

	"github.com/weftrpc/weft"
)

// belief is what a client takes for the list of a service, given what the registry
// says. It has neither clock nor lock.
type belief struct {
	protect time.Duration // not above zero: everything is believed

	instances []weft.Instance // by ID
	kept      []string        // those among them that the registry does not list
	revision  uint64
	any       bool      // something is believed
	doubted   time.Time // since when the registry is not believed; zero: it is
	why       string    // it is not
}

// hear takes what the registry says at a moment, and returns when to ask again in
// any case with the same list; the zero time: not before it has changed. The
// list's instances are sorted.
func (b *belief) hear(list List, now time.Time) (again time.Time) {
	older := b.revision > 0 && list.Revision > 0 && list.Revision < b.revision
	missing := b.missing(list.Instances)
	doubtful, why := false, ""
	switch {
	case !b.any || b.protect <= 0:
	case older:
		doubtful, why = true, "its revision is older than the one before"
	case len(missing) == 0:
	case len(missing)*2 > len(b.instances):
		doubtful, why = true, "more than half of its instances are missing"
	case !b.doubted.IsZero():
		// Once in doubt, what is missing gets its time to come back.
		doubtful, why = true, b.why
	}
	if doubtful && b.doubted.IsZero() {
		b.doubted = now
	}
	if !doubtful || now.Sub(b.doubted) >= b.protect {
		*b = belief{protect: b.protect, instances: list.Instances, revision: list.Revision, any: true}
		return time.Time{}
	}
	b.why = why
	if !older {
		b.merge(list.Instances, missing)
		b.revision = max(b.revision, list.Revision)
	}
	return b.doubted.Add(b.protect)
}

// missing returns the believed instances that a list does not have.
func (b *belief) missing(list []weft.Instance) []weft.Instance {
	var out []weft.Instance
	for _, i := range b.instances {
		if _, found := find(list, i.ID); !found {
			out = append(out, i)
		}
	}
	return out
}

// merge believes what a list has, and keeps what it misses.
func (b *belief) merge(list, missing []weft.Instance) {
	b.instances = sorted(slices.Concat(list, missing))
	b.kept = nil
	for _, i := range missing {
		b.kept = append(b.kept, i.ID)
	}
}

func find(instances []weft.Instance, id string) (int, bool) {
	return slices.BinarySearchFunc(instances, id, func(i weft.Instance, id string) int {
		switch {
		case i.ID < id:
			return -1
		case i.ID > id:
			return 1
		}
		return 0
	})
}
