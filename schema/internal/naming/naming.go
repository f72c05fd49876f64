// Package naming makes names that all languages can have, and texts that can stand in comments.
package naming

import (
	"strings"
	"unicode"
)

// Identifier makes a name that all languages can have.
func Identifier(name string) string {
	b := make([]byte, 0, len(name))
	for _, c := range name {
		switch {
		case c < 128 && (c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			b = append(b, byte(c))
		default:
			b = append(b, '_')
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' {
		return "_" + string(b)
	}
	return string(b)
}

// IsIdentifier reports whether a name is one that all languages can have, keywords aside.
func IsIdentifier(name string) bool { return Identifier(name) == name }

// Identifiers is Identifier for a name with dots.
func Identifiers(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = Identifier(p)
	}
	return strings.Join(parts, ".")
}

// Clean makes a text that can stand in a comment: lines end with a newline, and there are no other characters that
// are not printed.
func Clean(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || unicode.IsPrint(c):
			return c
		case c == '\r':
			return -1
		case c == '\u2028' || c == '\u2029' || c == '\u0085':
			return '\n'
		}
		return ' '
	}, text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
