// Package httpstatus says which HTTP status tells of a code, and which code an HTTP status stands for.
package httpstatus

import (
	"net/http"

	"github.com/weftrpc/weft"
)

// ClientClosed is what proxies log for a client that has gone; a client that is there sees it when a
// handler ends with Canceled.
const ClientClosed = 499

// row is what a status stands for.
type row struct {
	bare    weft.Code // in an answer without an error in its body, such as that of a proxy, as Connect defines it
	problem weft.Code // in an answer with a problem of RFC 9457 that names no code
}

// table are the statuses that stand for more than Unknown.
func table(status int) row {
	switch status {
	case http.StatusBadRequest:
		return row{weft.Internal, weft.InvalidArgument}
	case http.StatusUnauthorized:
		return row{weft.Unauthenticated, weft.Unauthenticated}
	case http.StatusForbidden:
		return row{weft.PermissionDenied, weft.PermissionDenied}
	case http.StatusNotFound:
		return row{weft.Unimplemented, weft.NotFound}
	case http.StatusGone:
		return row{weft.Unknown, weft.NotFound}
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return row{weft.Unknown, weft.Unimplemented}
	case http.StatusConflict:
		return row{weft.Unknown, weft.Aborted}
	case http.StatusPreconditionFailed:
		return row{weft.Unknown, weft.FailedPrecondition}
	case http.StatusRequestEntityTooLarge:
		return row{weft.Unknown, weft.ResourceExhausted}
	case http.StatusUnprocessableEntity:
		return row{weft.Unknown, weft.InvalidArgument}
	case http.StatusTooManyRequests:
		return row{weft.Unavailable, weft.ResourceExhausted}
	case ClientClosed:
		return row{weft.Unknown, weft.Canceled}
	case http.StatusInternalServerError:
		return row{weft.Unknown, weft.Internal}
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return row{weft.Unavailable, weft.Unavailable}
	case http.StatusGatewayTimeout:
		return row{weft.Unavailable, weft.DeadlineExceeded}
	}
	return row{weft.Unknown, weft.Unknown}
}

// Code is the code of an answer without an error in its body.
func Code(status int) weft.Code { return table(status).bare }

// CodeOfProblem is the code of an answer with a problem of RFC 9457 that names none.
func CodeOfProblem(status int) weft.Code { return table(status).problem }

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
