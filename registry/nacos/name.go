package nacos

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// maxName is how many bytes the name of a service and the ID of a configuration have at
// most. Nacos allows 512 and 255.
const maxName = 200

// nacosName makes a name of Nacos: letters, digits, hyphens, underscores and dots stay,
// every other byte is a colon and two hexadecimal digits. The end of a long one is a sum,
// after two colons, which nothing else has. Different names stay different.
func nacosName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, ":%02x", c)
		}
	}
	made := b.String()
	if len(made) <= maxName {
		return made
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s::%x", made[:maxName-2-32], sum[:16])
}
