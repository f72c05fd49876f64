package archtest

import (
	"fmt"
	"strings"
)

func sizeSamples() map[string][]sample {
	fields := func(typ string, n int) string {
		return fmt.Sprintf("type %s struct {%s}\n", typ, strings.Repeat("A, B int;", n/2))
	}
	methods := func(typ string, n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "type %s struct{}\n", typ)
		for i := range n {
			fmt.Fprintf(&b, "func (*%s) m%d() {}\n", typ, i)
		}
		return b.String()
	}
	const codec, session = "-- codec/a.go --\npackage codec\n", "-- internal/session/a.go --\npackage session\n"
	// These have budgets of their own, and keep them.
	const registry = "-- registry/a.go --\npackage registry\n"
	large := fields("topic", maxFields+2)
	busy := methods("Session", maxMethods+1) + methods("reader", maxMethods+1)
	lines := func(n int) string { return strings.Repeat("\n", n-1) }
	return map[string][]sample{
		"struct size": {
			{name: "too many", files: codec + fields("A", maxFields+2), want: []string{"codec/a.go:2 codec.A has 22 of at most 20 fields"}},
			{name: "just right; a budget of its own; tests and kits", files: codec + fields("A", maxFields) + registry + large +
				"-- codec/a_test.go --\npackage codec\n" + fields("B", 90) + "-- codec/codectest/a.go --\npackage codectest\n" + fields("C", 90)},
			{name: "a budget of its own that is not needed, and one of nothing", files: registry + fields("topic", 2) + "-- cluster/a.go --\npackage cluster\n",
				want: []string{"internal/archtest/sizes.go registry.topic has 2 and needs no budget", "internal/archtest/sizes.go there is no cluster.Client"}},
		},
		"method count": {
			{name: "too many, over two files", files: codec + methods("A", maxMethods) + "-- codec/b.go --\npackage codec\n\nfunc (A) More() {}\n",
				want: []string{"codec/a.go:3 codec.A has 26 of at most 25 methods"}},
			{name: "just right; a budget of its own", files: codec + methods("A", maxMethods) + session + busy},
		},
		"package length": {
			{name: "too long, over two files", files: codec + lines(maxPackageLines) + "-- codec/b.go --\npackage codec\n",
				want: []string{"codec/a.go:1 codec has 2401 of at most 2400 lines"}},
			{name: "just right; a test; a budget of its own", files: codec + lines(maxPackageLines) + "-- codec/a_test.go --\npackage codec\n" + lines(9000) +
				session + lines(maxPackageLines+1)},
		},
	}
}
