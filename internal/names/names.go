// Package names has what the names of methods, such as "Arith.Mul", say.
package names

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// Service is the part of a method's name before the last dot; "" if there is none.
func Service(method string) string {
	if i := strings.LastIndexByte(method, '.'); i >= 0 {
		return method[:i]
	}
	return ""
}

// Instead tells a caller what there is in place of a method that does not exist: the other methods
// of its service, or else the services. It looks at all methods.
func Instead(missing string, all iter.Seq[string]) string {
	service := Service(missing)
	var methods []string
	services := make(map[string]bool)
	for name := range all {
		if other := Service(name); other == service {
			methods = append(methods, name)
		} else {
			services[other] = true
		}
	}
	switch {
	case len(methods) > 0:
		return "; the service has " + list(methods)
	case len(services) > 0:
		return "; there are the services " + list(slices.Collect(maps.Keys(services)))
	default:
		return "; nothing is registered"
	}
}

// list joins at most a handful of names.
func list(names []string) string {
	const most = 8
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// perSecond is how many events a Limiter allows in each second.
const perSecond = 10

// Limiter bounds how often Instead is asked, which peers can cause. The zero value is ready; it may be
// used concurrently.
type Limiter struct {
	second atomic.Int64 // the second that given counts
	given  atomic.Int64
}

// Allow reports whether one more event is allowed in a second.
func (l *Limiter) Allow(second int64) bool {
	if was := l.second.Load(); was != second && l.second.CompareAndSwap(was, second) {
		l.given.Store(0)
	}
	return l.given.Add(1) <= perSecond
}
