package http

import (
	nethttp "net/http"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/httpstatus"
)

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
	return httpstatus.Of(e.Code)
}

// The reasons of errors that only this door has.
const (
	reasonNotAcceptable = "NOT_ACCEPTABLE" // no codec of the server is among those of Accept
	reasonVerb          = "VERB"           // the method cannot be called by this verb
)
