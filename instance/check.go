package instance

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of an instance.
const (
	maxService = 253     // bytes: with a dot and a letter it is the name of a method
	maxName    = 255     // bytes of each other name, tag and value
	maxTags    = 64      // tags
	maxWeight  = 1 << 20 // far above any use, far below overflow
)

// Check tells what is wrong with an instance: the service and the address must be
// there and of their forms, names be short UTF-8 without control characters, and
// numbers be in their range.
func (i *Instance) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("instance %q of service %q: %s", i.ID, i.Service, fmt.Sprintf(format, args...))
	}
	if !isService(i.Service) {
		return wrong("the service needs a name such as \"Arith\"")
	}
	u, err := url.Parse(i.Address)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Path == "" {
		return wrong("address %q is not like \"tcp://10.0.0.7:8972\"", i.Address)
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return wrong("address %q has the port %s, and the highest is 65535", i.Address, u.Port())
	}
	names := []struct{ what, value string }{
		{"ID", i.ID}, {"address", i.Address}, {"group", i.Group}, {"version", i.Version}, {"zone", i.Zone},
	}
	for k, v := range i.Tags {
		names = append(names, struct{ what, value string }{"tag", k}, struct{ what, value string }{"value of tag " + k, v})
	}
	for _, n := range names {
		switch {
		case len(n.value) > maxName:
			return wrong("the %s has %d bytes, at most %d are allowed", n.what, len(n.value), maxName)
		case !utf8.ValidString(n.value) || strings.ContainsFunc(n.value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return wrong("the %s %q has bytes that are not printable text", n.what, n.value)
		}
	}
	p := i.Position
	switch {
	case i.checkIdempotent() != "":
		return wrong("%s", i.checkIdempotent())
	case i.ID == "":
		return wrong("it has no ID")
	case len(i.Tags) > maxTags:
		return wrong("it has %d tags, at most %d are allowed", len(i.Tags), maxTags)
	case i.Weight > maxWeight:
		return wrong("weight %d is above %d", i.Weight, maxWeight)
	case i.State > Off:
		return wrong("there is no state %d", uint8(i.State))
	case i.Started.Year() < 1 || i.Started.Year() > 9999:
		return wrong("it started in the year %d", i.Started.Year())
	case p != nil && !p.Valid():
		return wrong("position %v, %v is not on Earth", p.Latitude, p.Longitude)
	}
	return nil
}

// isService reports whether a name can be that of a service: UTF-8 without spaces and
// control characters.
func isService(name string) bool {
	blank := func(r rune) bool { return r <= ' ' || r == 0x7f }
	return name != "" && len(name) <= maxService && utf8.ValidString(name) && !strings.ContainsFunc(name, blank)
}
