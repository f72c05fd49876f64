// Package httpfield reads and writes values of the header fields that the doors and wires of HTTP have in common.
package httpfield

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/compress"
)

// IsToken reports whether a key of metadata may be part of the name of a field without a change.
func IsToken(key string) bool {
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return key != ""
}

// Clip shortens what a peer has sent, for a message.
func Clip(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// Accepts calls yield with the parts of an Accept field, or one like it, that have a weight above zero, in lower case and as they
// are ordered in it, until yield returns true.
func Accepts(fields []string, yield func(part string) bool) bool {
	for _, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			name, params, _ := strings.Cut(part, ";")
			if q := strings.ReplaceAll(strings.ToLower(params), " ", ""); strings.HasPrefix(q, "q=0") && strings.Trim(q[len("q=0"):], ".0") == "" {
				continue
			}
			if yield(strings.ToLower(strings.TrimSpace(name))) {
				return true
			}
		}
	}
	return false
}

// Names lists compressors.
func Names(all []compress.Compressor) string {
	names := make([]string, 0, len(all))
	for _, z := range all {
		names = append(names, z.Name())
	}
	return strings.Join(names, ", ")
}

// MaxTimeout is the longest time that a client may ask for.
const MaxTimeout = 1000 * time.Hour

// Left is how many milliseconds are left until the deadline of ctx, one at least; "": there is none.
func Left(ctx context.Context) string {
	d, ok := ctx.Deadline()
	if !ok {
		return ""
	}
	left := min(time.Until(d), MaxTimeout)
	return strconv.FormatInt(max((left+time.Millisecond-1).Milliseconds(), 1), 10)
}
