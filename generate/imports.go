package generate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// imports names the packages that a file uses.
type imports struct {
	own   string            // the path of the file's own package
	names map[string]string // by path
	taken map[string]bool
}

func newImports(own string) *imports {
	return &imports{own: own, names: make(map[string]string), taken: make(map[string]bool)}
}

// use returns the name by which the file calls a package, whose own name is given.
func (i *imports) use(pkgPath, name string) string {
	if known, ok := i.names[pkgPath]; ok {
		return known
	}
	chosen := name
	for k := 2; i.taken[chosen]; k++ {
		chosen = fmt.Sprint(name, k)
	}
	i.names[pkgPath], i.taken[chosen] = chosen, true
	return chosen
}

// std is use for a package whose name is the last part of its path.
func (i *imports) std(pkgPath string) string { return i.use(pkgPath, path.Base(pkgPath)) }

// print writes the import declaration for the packages that body uses.
func (i *imports) print(body string) string {
	var standard, others []string
	for _, p := range slices.Sorted(maps.Keys(i.names)) {
		name := i.names[p]
		if !strings.Contains(body, name+".") {
			continue
		}
		line := fmt.Sprintf("\t%q\n", p)
		if name != path.Base(p) {
			line = fmt.Sprintf("\t%s %q\n", name, p)
		}
		if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
			others = append(others, line)
		} else {
			standard = append(standard, line)
		}
	}
	if len(standard)+len(others) == 0 {
		return ""
	}
	gap := ""
	if len(standard) > 0 && len(others) > 0 {
		gap = "\n"
	}
	return "import (\n" + strings.Join(standard, "") + gap + strings.Join(others, "") + ")\n"
}

// exported turns a name of a .proto file into one of Go, as protoc-gen-go has it: order_id
// becomes OrderId.
func exported(name string) string {
	lower := func(i int) bool { return i < len(name) && name[i] >= 'a' && name[i] <= 'z' }
	var b []byte
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '.' && lower(i+1):
		case c == '.':
			b = append(b, '_')
		case c == '_' && (i == 0 || name[i-1] == '.'):
			b = append(b, 'X')
		case c == '_' && lower(i+1):
		case c >= '0' && c <= '9':
			b = append(b, c)
		default:
			if lower(i) {
				c -= 'a' - 'A'
			}
			b = append(b, c)
			for ; lower(i + 1); i++ {
				b = append(b, name[i+1])
			}
		}
	}
	return string(b)
}
