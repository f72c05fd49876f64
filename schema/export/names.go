package export

import (
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// shortNames gives each message and enumeration a name of its own that is an identifier: that of the type, or, where
// several have that, with the package before it. taken reports names that none may have.
func shortNames(m *schema.Model, taken func(string) bool) map[string]string {
	type named struct{ full, pkg, local string }
	var all []named
	count := make(map[string]int)
	add := func(full, pkg, local string) {
		n := named{full, naming.Identifier(pkg), naming.Identifier(local)}
		count[n.local]++
		all = append(all, n)
	}
	for _, one := range m.Messages {
		add(one.Name, one.Package, one.Local())
	}
	for _, e := range m.Enums {
		add(e.Name, e.Package, e.Local())
	}
	out, used := make(map[string]string), make(map[string]bool)
	for _, n := range all {
		short := n.local
		if count[short] > 1 {
			short = n.pkg + "_" + short
		}
		for taken(short) || used[short] || short != n.local && count[short] > 0 {
			short += "_"
		}
		used[short] = true
		out[n.full] = short
	}
	return out
}

// join is a name in a package.
func join(pkg, name string) string {
	if pkg == "" {
		return name
	}
	return pkg + "." + name
}
