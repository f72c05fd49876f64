package consul

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// serviceName is the name of a service in Consul: its own with the prefix. Whatever
// cannot be a label of a DNS name is a hyphen and two hexadecimal digits a byte, so
// "pkg.Arith" is "weft-pkg-2eArith".
func (d *driver) serviceName(service string) string { return d.prefix + escape(service, '-', "") }

// maxSlug is how much of a service's name and ID can be read in the ID that Consul has.
const maxSlug = 80

// serviceID is the ID of an instance in Consul. It must be a part of a URL's path, and
// differ from others not only by large and small letters. Its first part is for people,
// the last one makes it different.
func (d *driver) serviceID(service, id string) string {
	text := slug(service+"-"+id, ".")
	sum := sha256.Sum256([]byte(service + "\x00" + id))
	return fmt.Sprintf("%s%s-%x", d.prefix, text[:min(len(text), maxSlug)], sum[:8])
}

// documentKey is the key of a document.
func (d *driver) documentKey(name string) string {
	return d.prefix + "documents/" + escape(name, '~', "-_")
}

// escape writes a mark and two hexadecimal digits for every byte that is no letter, no
// digit and not one to keep. Different texts give different results.
func escape(s string, mark byte, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if letterOrDigit(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%c%02x", mark, c)
		}
	}
	return b.String()
}

// slug writes small letters, and one hyphen for whatever is no letter, no digit and not
// one to keep.
func slug(s, keep string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			b = append(b, c-'A'+'a')
		case letterOrDigit(c) || strings.IndexByte(keep, c) >= 0:
			b = append(b, c)
		case len(b) == 0 || b[len(b)-1] != '-':
			b = append(b, '-')
		}
	}
	return string(b)
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
