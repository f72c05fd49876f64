// Package percent is the encoding of the header field grpc-message: printable ASCII as it is, and
// any other byte, and the percent sign, as a percent sign and two hexadecimal digits.
package percent

import (
	"strconv"
	"strings"
)

// Encode encodes a message.
func Encode(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// Decode undoes Encode. What is not encoded as it should be stays as it is.
func Decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
