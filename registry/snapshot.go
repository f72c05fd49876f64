package registry

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// Snapshot is what a client knows of the instances of a service. It must not be
// changed.
type Snapshot struct {
	Service   string
	Instances []weft.Instance // by ID
	// Kept are the IDs of instances that the registry no longer lists, and that
	// are among the Instances because its list is not accepted yet.
	Kept []string
	// Invalid are entries of the registry that are no instances.
	Invalid []Invalid
	// Source is the name of the registry, "cache of" it, or the names of several.
	Source string
	// Revision is that of the registry, 0 if it has none.
	Revision uint64
	// Err is why the registry does not answer now; nil while it does.
	Err error

	confirmed *atomic.Int64 // nanoseconds of Unix time
}

// Confirmed is when the registry last said that this is the list; the zero time if it
// never did.
func (s *Snapshot) Confirmed() time.Time {
	if s.confirmed == nil || s.confirmed.Load() == 0 {
		return time.Time{}
	}
	return time.Unix(0, s.confirmed.Load())
}

// Age is the time since Confirmed, 0 if the registry has not said anything.
func (s *Snapshot) Age() time.Duration {
	if at := s.Confirmed(); !at.IsZero() {
		return max(0, time.Since(at))
	}
	return 0
}

// same reports whether two snapshots say the same, whenever they were confirmed.
func (s *Snapshot) same(o *Snapshot) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Source == o.Source && s.Revision == o.Revision && (s.Err == nil) == (o.Err == nil) &&
		slices.Equal(s.Kept, o.Kept) &&
		slices.EqualFunc(s.Instances, o.Instances, func(a, b weft.Instance) bool { return a.Equal(&b) }) &&
		slices.EqualFunc(s.Invalid, o.Invalid, Invalid.same)
}

// sorted sorts instances by ID; of two with the same, the first stays.
func sorted(instances []weft.Instance) []weft.Instance {
	slices.SortStableFunc(instances, func(a, b weft.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(instances, func(a, b weft.Instance) bool { return a.ID == b.ID })
}
