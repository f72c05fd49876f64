package file

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// maxName is how many bytes of a name are written out. File systems take 255, with
// what comes around it.
const maxName = 150

// fileName makes a name of a file of any name: readable, never hidden, never the same
// for two.
func fileName(name string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= maxName {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s~%x", b.String()[:maxName], sum[:16])
}
