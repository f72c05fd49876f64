package registry

import (
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft"
)

// accepted is the list of a service that a client uses, made of the lists that the
// registry sends. It has neither clock nor lock.
type accepted struct {
	protect time.Duration // not above zero: every list is accepted at once

	instances []weft.Instance      // by ID
	since     map[string]time.Time // when those of them went missing that the registry does not list
	revision  uint64
	any       bool      // there is a list
	older     time.Time // since when the registry's lists are older than this one; zero: they are not
	why       string    // the last list was not accepted as it is
}

// take takes a list of the registry at a moment, and returns when to take the same list
// again; the zero time: not before it has changed. The list's instances are sorted.
func (a *accepted) take(list List, now time.Time) (again time.Time) {
	older := a.revision > 0 && list.Revision > 0 && list.Revision < a.revision
	switch {
	case !a.any || a.protect <= 0:
		a.accept(list)
		return time.Time{}
	case older && a.older.IsZero():
		a.older, a.why = now, "its revision is older than the one before"
		fallthrough
	case older:
		if now.Sub(a.older) >= a.protect {
			a.accept(list)
			return time.Time{}
		}
		return a.older.Add(a.protect)
	}
	missing := a.missing(list.Instances)
	if a.asSent() {
		if len(missing)*2 <= len(a.instances) {
			a.accept(list)
			return time.Time{}
		}
		a.why = "more than half of its instances are missing"
	}
	// From the first missing ones on, every missing instance gets its time to come back.
	return a.keep(list, missing, now)
}

// accept uses a list as it is.
func (a *accepted) accept(list List) {
	*a = accepted{protect: a.protect, instances: list.Instances, revision: list.Revision, any: true}
}

// asSent reports whether the last list of the registry is used as it is.
func (a *accepted) asSent() bool { return a.older.IsZero() && len(a.since) == 0 }

// keep uses what a list has, and keeps each instance that it misses until that has been
// missing for the time of protection. It returns when the first of them will have been.
func (a *accepted) keep(list List, missing []weft.Instance, now time.Time) (again time.Time) {
	since := make(map[string]time.Time)
	instances := slices.Clone(list.Instances)
	for _, i := range missing {
		gone, known := a.since[i.ID]
		if !known {
			gone = now
		}
		end := gone.Add(a.protect)
		if !now.Before(end) {
			continue
		}
		since[i.ID] = gone
		instances = append(instances, i)
		if again.IsZero() || end.Before(again) {
			again = end
		}
	}
	a.instances, a.since, a.revision, a.older = sorted(instances), since, max(a.revision, list.Revision), time.Time{}
	return again
}

// restart begins all times of protection anew: what would have come back while the
// registry was away is not known.
func (a *accepted) restart(now time.Time) {
	for id := range a.since {
		a.since[id] = now
	}
	if !a.older.IsZero() {
		a.older = now
	}
}

// kept returns the IDs of the instances that the registry does not list.
func (a *accepted) kept() []string { return slices.Sorted(maps.Keys(a.since)) }

// missing returns the instances that a list does not have.
func (a *accepted) missing(list []weft.Instance) []weft.Instance {
	var out []weft.Instance
	for _, i := range a.instances {
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
