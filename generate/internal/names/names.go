// Package names makes the names of generated Go: of what other languages define, and of the packages that a file imports.
package names

import (
	"fmt"
	"go/token"
	"strings"
)

// Exported turns a name of a .proto file into one of Go, as protoc-gen-go has it: order_id
// becomes OrderId.
func Exported(name string) string {
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

// Local is the name of a variable: that of a field, with a small first letter.
func Local(name string) string {
	name = Exported(name)
	n := 0
	for n < len(name) && name[n] >= 'A' && name[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(name) && name[n] >= 'a' && name[n] <= 'z' {
		n-- // the last one begins a word
	}
	return strings.ToLower(name[:n]) + name[n:]
}

// CheckPackage returns an error for what cannot be the name of a package.
func CheckPackage(name string) error {
	if name == "_" || !token.IsIdentifier(name) {
		return fmt.Errorf("%q is no name for a Go package: it is an identifier, and neither a keyword nor _", name)
	}
	return nil
}

// Package makes a name for a package of that of its folder.
func Package(folder string) string {
	name := strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, folder)
	switch {
	case name != "" && name[0] >= '0' && name[0] <= '9':
		return "_" + name
	case token.IsKeyword(name), name == "_":
		return name + "_"
	}
	return name
}
