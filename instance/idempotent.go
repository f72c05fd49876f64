package instance

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// All in Instance.Idempotent is every method of the service.
const All = "*"

// Limits of Instance.Idempotent: every change of an instance is carried to every client.
const (
	maxIdempotent      = 64      // methods
	maxIdempotentBytes = 2 << 10 // of their names together
)

// IsIdempotent reports whether a method, named without its service, can be called again
// without another effect.
func (i *Instance) IsIdempotent(method string) bool {
	return slices.Contains(i.Idempotent, method) || slices.Contains(i.Idempotent, All)
}

// AddIdempotent adds methods, named without their service, to those that are idempotent,
// and returns how many of them an instance has no room for. Clients do not call these
// again.
func (i *Instance) AddIdempotent(methods ...string) (left int) {
	all := slices.Clone(i.Idempotent)
	size := 0
	for _, m := range all {
		size += len(m)
	}
	for _, m := range slices.Compact(slices.Sorted(slices.Values(methods))) {
		switch {
		case slices.Contains(all, m):
		case len(all) == maxIdempotent || size+len(m) > maxIdempotentBytes:
			left++
		default:
			all = append(all, m)
			size += len(m)
		}
	}
	slices.Sort(all)
	i.Idempotent = all
	return left
}

// checkIdempotent tells what is wrong with the names of idempotent methods; "": nothing.
func (i *Instance) checkIdempotent() string {
	size := 0
	for _, m := range i.Idempotent {
		size += len(m)
		bad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '.' }
		if m == "" || !utf8.ValidString(m) || strings.ContainsFunc(m, bad) {
			return "an idempotent method has a wrong name: want one without the service, such as \"Mul\", or \"*\""
		}
	}
	if len(i.Idempotent) > maxIdempotent || size > maxIdempotentBytes {
		return "it has too many idempotent methods: at most 64 with 2048 bytes are allowed; \"*\" is all"
	}
	return ""
}
