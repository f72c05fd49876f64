package figures

import (
	"strings"
	"unicode"

	"github.com/weftrpc/weft"
)

// MethodName is the name of a method in metrics and traces, which is the same on every wire:
// "Arith.Mul" is "Arith/Mul". The methods that have no name of their own are "_OTHER".
func MethodName(method string) string {
	if method == "" {
		return "_OTHER"
	}
	if dot := strings.LastIndexByte(method, '.'); dot > 0 {
		return method[:dot] + "/" + method[dot+1:]
	}
	return method
}

// Status is the name of a code in metrics and traces, such as "DEADLINE_EXCEEDED".
func Status(code weft.Code) string {
	switch code {
	case 0:
		return "OK"
	case weft.Canceled:
		return "CANCELLED" // as gRPC spells it
	}
	if code > weft.Unauthenticated {
		code = weft.Unknown
	}
	return strings.ToUpper(snake(code.String()))
}

// ServerError reports whether a code is a failure of the server.
func ServerError(code weft.Code) bool {
	switch code {
	case weft.Unknown, weft.DeadlineExceeded, weft.Unimplemented, weft.Internal, weft.Unavailable, weft.DataLoss:
		return true
	}
	return false
}

// ClientError reports whether a code is a failure for a client.
func ClientError(code weft.Code) bool { return code != 0 }

// snake writes "NotSent" and "not sent" as "not_sent".
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == ' ':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			if i > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
