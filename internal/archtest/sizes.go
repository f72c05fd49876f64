package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// The budgets of types and packages. A type with many methods or fields is several
// things under one name; a package with many lines is several packages.
const (
	maxFields       = 20
	maxMethods      = 25
	maxPackageLines = 2400
)

// larger are the subjects that are beyond a budget, by rule, with a budget of their own
// that is a little above what they had when it was set. It is lowered when they have
// become smaller, and removed when they keep the common one.
func larger() map[string]map[string]int {
	return map[string]map[string]int{
		"struct size": {
			"cluster.Client":               21,
			"generate/internal/shop.Order": 40, // one of each kind, for tests
			"registry.topic":               24,
			"weft.ClientConfig":            28, // settings, each with a default
			"weft.Server":                  29,
			"weft.ServerConfig":            26, // settings, each with a default
		},
		"method count": {
			"cluster.Client":             35,
			"cluster.call":               34,
			"codec/gob.scanner":          32,
			"codec/internal/memory.Ref":  72,
			"internal/outbuf.Writer":     32,
			"internal/session.Session":   45,
			"door/internal/http2.Conn":   80,
			"internal/session.reader":    36,
			"registry/zookeeper.session": 28,
			"weft.Peer":                  27,
			"weft.Server":                41,
		},
		"package length": {
			".":                8250,
			"cluster":          3700,
			"cluster/route":    2600,
			"door/grpc":        3360,
			"door/http":        3450,
			"door/thrift":      2700,
			"generate":         3250,
			"internal/session": 5550,
			"codec/msgpack":    2700,
		},
	}
}

// budget holds sizes to a common budget, or to the one that larger gives a subject. It
// reports budgets of larger that are no longer needed.
func (t *Tree) budget(rule string, common int, sizes map[string]size, advice string) []Finding {
	var found []Finding
	own := larger()[rule]
	for _, subject := range slices.Sorted(maps.Keys(sizes)) {
		s := sizes[subject]
		limit, exceptional := own[subject]
		switch {
		case !exceptional && s.n > common:
			found = append(found, t.at(s.decl.Pos(), "%s has %s", subject, beyond(s.n, common, advice)))
		case exceptional && s.n > limit:
			found = append(found, t.at(s.decl.Pos(), "%s has %s", subject, beyond(s.n, limit, advice)))
		case exceptional && s.n <= common:
			found = append(found, Finding{File: "internal/archtest/sizes.go",
				Message: fmt.Sprintf("%s has %d and needs no budget of its own in %q: remove it", subject, s.n, rule)})
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(own)) {
		if _, ok := sizes[subject]; !ok && t.holdsPackageOf(subject) {
			found = append(found, Finding{File: "internal/archtest/sizes.go",
				Message: fmt.Sprintf("there is no %s, which has a budget of its own in %q: remove it", subject, rule)})
		}
	}
	return found
}

// holdsPackageOf tells whether the tree holds the package of a type. In the samples of
// the tests it holds few.
func (t *Tree) holdsPackageOf(typ string) bool {
	return slices.ContainsFunc(t.packages, func(p *pkg) bool {
		name, ok := strings.CutPrefix(typ, p.qualified(""))
		return ok && !strings.ContainsAny(name, "./")
	})
}

// size is a number and the declaration to which it belongs.
type size struct {
	n    int
	decl ast.Node
}

// structSize counts the fields of every struct type, one for each name.
func structSize(t *Tree) []Finding {
	sizes := make(map[string]size)
	for p, f := range t.sources {
		if p.workshop() || p.kit() {
			continue
		}
		for n := range ast.Preorder(f.File) {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if typ, ok := spec.Type.(*ast.StructType); ok {
				sizes[p.qualified(spec.Name.Name)] = size{typ.Fields.NumFields(), spec}
			}
		}
	}
	return t.budget("struct size", maxFields, sizes, "fields: give those that change together a type of their own")
}

// methodCount counts the methods of every type.
func methodCount(t *Tree) []Finding {
	sizes := make(map[string]size)
	for p, f := range t.sources {
		if p.workshop() || p.kit() {
			continue
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			name := p.qualified(receiver(fn))
			if before, ok := sizes[name]; ok {
				sizes[name] = size{before.n + 1, before.decl}
			} else {
				sizes[name] = size{1, fn}
			}
		}
	}
	return t.budget("method count", maxMethods, sizes, "methods: move those that use few of its fields to a type of their own")
}

// packageLength counts the lines of every package, without tests and generated files.
func packageLength(t *Tree) []Finding {
	sizes := make(map[string]size)
	for p, f := range t.sources {
		if p.workshop() {
			continue
		}
		s, ok := sizes[p.dir]
		if !ok {
			s.decl = f.Name
		}
		s.n += f.lines
		sizes[p.dir] = s
	}
	return t.budget("package length", maxPackageLines, sizes, "lines: find a part that can stand alone")
}
