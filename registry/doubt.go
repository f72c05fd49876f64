package registry

import (
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft"
)

// belief is what a client takes for the list of a service, given what the registry
// says. It has neither clock nor lock.
type belief struct {
	protect time.Duration // not above zero: everything is believed

	instances []weft.Instance      // by ID
	since     map[string]time.Time // when those of them went missing that the registry does not list
	revision  uint64
	any       bool      // something is believed
	doubted   time.Time // since when the registry's lists are older than this one; zero: they are not
	why       string    // the registry is not believed
}

// hear takes what the registry says at a moment, and returns when to ask again in
// any case with the same list; the zero time: not before it has changed. The
// list's instances are sorted.
func (b *belief) hear(list List, now time.Time) (again time.Time) {
	older := b.revision > 0 && list.Revision > 0 && list.Revision < b.revision
	switch {
	case !b.any || b.protect <= 0:
		b.trust(list)
		return time.Time{}
	case older && b.doubted.IsZero():
		b.doubted, b.why = now, "its revision is older than the one before"
		fallthrough
	case older:
		if now.Sub(b.doubted) >= b.protect {
			b.trust(list)
			return time.Time{}
		}
		return b.doubted.Add(b.protect)
	}
	missing := b.missing(list.Instances)
	if b.trusts() {
		if len(missing)*2 <= len(b.instances) {
			b.trust(list)
			return time.Time{}
		}
		b.why = "more than half of its instances are missing"
	}
	// Once in doubt, whatever is missing gets its time to come back.
	return b.keep(list, missing, now)
}

// trust believes a list as it is.
func (b *belief) trust(list List) {
	*b = belief{protect: b.protect, instances: list.Instances, revision: list.Revision, any: true}
}

// trusts reports whether the last list is believed as it was.
func (b *belief) trusts() bool { return b.doubted.IsZero() && len(b.since) == 0 }

// keep believes what a list has, and keeps each instance that it misses until that
// has been missing for the time of protection. It returns when the first of them
// will have been.
func (b *belief) keep(list List, missing []weft.Instance, now time.Time) (again time.Time) {
	since := make(map[string]time.Time)
	instances := slices.Clone(list.Instances)
	for _, i := range missing {
		gone, known := b.since[i.ID]
		if !known {
			gone = now
		}
		end := gone.Add(b.protect)
		if !now.Before(end) {
			continue
		}
		since[i.ID] = gone
		instances = append(instances, i)
		if again.IsZero() || end.Before(again) {
			again = end
		}
	}
	b.instances, b.since, b.revision, b.doubted = sorted(instances), since, max(b.revision, list.Revision), time.Time{}
	return again
}

// restart lets all times of doubt count anew from now: nobody knows what would have
// come back while the registry was away.
func (b *belief) restart(now time.Time) {
	for id := range b.since {
		b.since[id] = now
	}
	if !b.doubted.IsZero() {
		b.doubted = now
	}
}

// kept returns the IDs of the believed instances that the registry does not list.
func (b *belief) kept() []string { return slices.Sorted(maps.Keys(b.since)) }

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
