// Package percent is the encoding of the header field grpc-message: printable ASCII as it is, and
// any other byte, and the percent sign, as a percent sign and two hexadecimal digits.
package percent

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// EncodeMost encodes as many characters of a message as have room in so many bytes.
func EncodeMost(s string, most int) string {
	size, plain := 0, true
	for i := 0; i < len(s); {
		_, width := utf8.DecodeRuneInString(s[i:])
		n := width
		if !printable(s[i]) {
			plain, n = false, 3*width
		}
		if size += n; size > most {
			s = s[:i]
			break
		}
		i += width
	}
	if plain {
		return s
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; printable(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// printable reports whether a byte travels as it is.
func printable(c byte) bool { return c >= ' ' && c <= '~' && c != '%' }

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
