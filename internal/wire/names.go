package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxCodecName is the longest name of a codec or a compressor, in bytes.
	MaxCodecName = 32
	// MaxMethodName is the longest name of a method, in bytes.
	MaxMethodName = 255
	// reserved begins the names that the protocol keeps for itself. No method has one: a client that calls Weft.Ping learns
	// from the refusal that the server answers.
	reserved = "Weft."
)

// CheckName reports what is wrong with the name of a codec or a compressor: it
// has 1 to MaxCodecName characters of a-z, 0-9, '-' and '.'.
func CheckName(name string) error {
	if len(name) == 0 || len(name) > MaxCodecName {
		return fmt.Errorf("name of %d bytes, want 1 to %d", len(name), MaxCodecName)
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return fmt.Errorf("name with the character %#02x, want a-z, 0-9, '-' and '.'", c)
		}
	}
	return nil
}

// CheckMethod reports what is wrong with the name of a method: it has 1 to
// MaxMethodName bytes of UTF-8 without spaces and control characters. A name has
// exactly one spelling, so that no policy can be passed by another one.
func CheckMethod(name string) error {
	if len(name) == 0 || len(name) > MaxMethodName {
		return fmt.Errorf("method name of %d bytes, want 1 to %d", len(name), MaxMethodName)
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f {
			return fmt.Errorf("method name with the character %#02x", c)
		}
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("method name that is not UTF-8")
	}
	return nil
}

// CheckServiceMethod reports what is wrong with the name of a method of a service, such as "Arith.Mul", and, if served is true, with
// serving a method under it.
func CheckServiceMethod(name string, served bool) error {
	dot := strings.LastIndexByte(name, '.')
	switch err := CheckMethod(name); {
	case err != nil:
		return fmt.Errorf("name %q: %w", name, err)
	case dot <= 0 || dot == len(name)-1:
		return fmt.Errorf("method name %q is not of the form Service.Method", name)
	case served && strings.HasPrefix(name, reserved):
		return fmt.Errorf("method name %q: names that begin with %q are reserved", name, reserved)
	}
	return nil
}
