package mdns

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// domain is the type of all instances.
	domain = "_weft._tcp.local."
	// typesName is what tools ask for the types that there are (RFC 6763, section 9).
	typesName = "_services._dns-sd._udp.local."
	// legible is how many bytes of a service's name are in the names of its records.
	legible = 20
	// serviceDigest and idDigest are how many hexadecimal digits of digests are. A
	// label can have 63 bytes.
	serviceDigest = 16
	idDigest      = 20
)

// serviceLabel is the label of a service's subtype. The digest tells the services
// apart; what is before it is for people.
func serviceLabel(service string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, service)
	return name[:min(len(name), legible)] + "-" + digest(service, serviceDigest)
}

// instanceLabel is the first label of an instance's name.
func instanceLabel(service, id string) string {
	return serviceLabel(service) + "-" + digest(id, idDigest)
}

func digest(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// subtype is the name that is asked for the instances of a service. Some tools want it
// to begin with '_'.
func subtype(service string) string { return "_" + serviceLabel(service) + "._sub." + domain }

// instanceName is the name of an instance's records, given its label.
func instanceName(label string) string { return label + "." + domain }

// hostName is the name of the address in an instance's SRV record.
func hostName(label string) string { return label + ".local." }

// labelOf returns the label of an instance, given the name of its records.
func labelOf(name string) (label string, ok bool) {
	label, ok = strings.CutSuffix(strings.ToLower(name), "."+domain)
	return label, ok && label != "" && !strings.Contains(label, ".")
}

// isOf reports whether a label is that of an instance of the service with that label.
func isOf(service, label string) bool {
	rest, ok := strings.CutPrefix(label, service+"-")
	return ok && len(rest) == idDigest
}
