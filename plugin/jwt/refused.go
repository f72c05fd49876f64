package jwt

import (
	"errors"

	"github.com/weftrpc/weft"
)

// refused reports whether a server has refused a call for its token: then it was not run.
func refused(err error) bool {
	e, ok := errors.AsType[*weft.Error](err)
	return ok && e.Code == weft.Unauthenticated && e.Outcome == weft.Refused
}
