package http

import (
	nethttp "net/http"

	"github.com/weftrpc/weft"
)

// statusClientClosed is what proxies log for a client that has gone; a client that is there sees
// it when a handler ends with Canceled.
const statusClientClosed = 499

// statusOf is the HTTP status of an error.
func statusOf(e *weft.Error) int {
	switch e.Reason {
	case weft.ReasonNoMethod:
		return nethttp.StatusNotFound
	case weft.ReasonMessageTooLarge:
		if e.Outcome == weft.Refused {
			return nethttp.StatusRequestEntityTooLarge
		}
	case weft.ReasonMetadataTooLarge:
		return nethttp.StatusRequestHeaderFieldsTooLarge
	case weft.ReasonNoCodec:
		return nethttp.StatusUnsupportedMediaType
	case reasonNotAcceptable:
		return nethttp.StatusNotAcceptable
	case reasonVerb:
		return nethttp.StatusMethodNotAllowed
	}
	return statusOfCode(e.Code)
}

func statusOfCode(c weft.Code) int {
	switch c {
	case weft.Canceled:
		return statusClientClosed
	case weft.InvalidArgument, weft.FailedPrecondition, weft.OutOfRange:
		return nethttp.StatusBadRequest
	case weft.Unauthenticated:
		return nethttp.StatusUnauthorized
	case weft.PermissionDenied:
		return nethttp.StatusForbidden
	case weft.NotFound:
		return nethttp.StatusNotFound
	case weft.AlreadyExists, weft.Aborted:
		return nethttp.StatusConflict
	case weft.ResourceExhausted:
		return nethttp.StatusTooManyRequests
	case weft.Unimplemented:
		return nethttp.StatusNotImplemented
	case weft.Unavailable:
		return nethttp.StatusServiceUnavailable
	case weft.DeadlineExceeded:
		return nethttp.StatusGatewayTimeout
	}
	return nethttp.StatusInternalServerError
}

// The reasons of errors that only this door has.
const (
	reasonNotAcceptable = "NOT_ACCEPTABLE" // no codec of the server is among those of Accept
	reasonVerb          = "VERB"           // the method cannot be called by this verb
)
