// Package httpstatus says which HTTP status tells of a code, and which code an answer without one has.
package httpstatus

import (
	"net/http"

	"github.com/weftrpc/weft"
)

// ClientClosed is what proxies log for a client that has gone; a client that is there sees it when a
// handler ends with Canceled.
const ClientClosed = 499

// Of is the status of a code.
func Of(c weft.Code) int {
	switch c {
	case weft.Canceled:
		return ClientClosed
	case weft.InvalidArgument, weft.FailedPrecondition, weft.OutOfRange:
		return http.StatusBadRequest
	case weft.Unauthenticated:
		return http.StatusUnauthorized
	case weft.PermissionDenied:
		return http.StatusForbidden
	case weft.NotFound:
		return http.StatusNotFound
	case weft.AlreadyExists, weft.Aborted:
		return http.StatusConflict
	case weft.ResourceExhausted:
		return http.StatusTooManyRequests
	case weft.Unimplemented:
		return http.StatusNotImplemented
	case weft.Unavailable:
		return http.StatusServiceUnavailable
	case weft.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// Code is the code of an answer without an error in its body, such as that of a proxy, as Connect defines it.
func Code(status int) weft.Code {
	switch status {
	case http.StatusBadRequest:
		return weft.Internal
	case http.StatusUnauthorized:
		return weft.Unauthenticated
	case http.StatusForbidden:
		return weft.PermissionDenied
	case http.StatusNotFound:
		return weft.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return weft.Unavailable
	}
	return weft.Unknown
}
