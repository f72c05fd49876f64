package route

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

// matcher is a compiled Match.
type matcher []wanted

// wanted is what is asked of one field of an instance.
type wanted struct {
	name string
	of   func(*weft.Instance) string // nil: the tag of that name
	in   *patterns
}

func (w *wanted) value(i *weft.Instance) string {
	if w.of == nil {
		return i.Tags[w.name]
	}
	return w.of(i)
}

func newMatcher(m *Match) matcher {
	var all matcher
	for _, w := range []struct {
		name string
		of   func(*weft.Instance) string
		in   Patterns
	}{
		{"id", func(i *weft.Instance) string { return i.ID }, m.ID},
		{"address", func(i *weft.Instance) string { return i.Address }, m.Address},
		{"group", func(i *weft.Instance) string { return i.Group }, m.Group},
		{"version", func(i *weft.Instance) string { return i.Version }, m.Version},
		{"zone", func(i *weft.Instance) string { return i.Zone }, m.Zone},
	} {
		if len(w.in) > 0 {
			all = append(all, wanted{w.name, w.of, newPatterns(w.in)})
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(m.Tags)) {
		all = append(all, wanted{tag, nil, newPatterns(m.Tags[tag])})
	}
	return all
}

func (m matcher) match(i *weft.Instance) bool {
	for _, w := range m {
		if !w.in.match(w.value(i)) {
			return false
		}
	}
	return true
}

// any reports whether one of the instances matches.
func (m matcher) any(instances []weft.Instance) bool {
	for i := range instances {
		if m.match(&instances[i]) {
			return true
		}
	}
	return false
}

// String is such as "version=1.* zone=eu-1|eu-2".
func (m matcher) String() string {
	parts := make([]string, len(m))
	for i, w := range m {
		parts[i] = w.name + "=" + w.in.text
	}
	return strings.Join(parts, " ")
}
