// Package published finds the methods that the servers of a service have published as idempotent.
package published

import (
	"slices"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/instance"
)

// Methods are the idempotent methods of a service. One counts when every server publishes it: a call that is made again may reach any. A nil
// pointer has none.
type Methods struct{ names []string } // without the service, in order; or instance.All

// By finds the methods among the instances. It returns last if nothing has changed, so that what was made of it stays.
func By(instances []weft.Instance, last *Methods) *Methods {
	now := &Methods{}
	for i := range instances {
		published := instances[i].Idempotent
		switch {
		case i == 0:
			now.names = slices.Sorted(slices.Values(published))
		case now.Has(instance.All):
			now.names = slices.Sorted(slices.Values(published))
		case !slices.Contains(published, instance.All):
			now.names = slices.DeleteFunc(now.names, func(m string) bool { return !slices.Contains(published, m) })
		}
	}
	if last != nil && slices.Equal(last.names, now.names) {
		return last
	}
	return now
}

// Has reports whether a method is among them.
func (m *Methods) Has(method string) bool {
	return m != nil && (slices.Contains(m.names, method) || slices.Contains(m.names, instance.All))
}
