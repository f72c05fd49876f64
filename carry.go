package weft

import (
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/fit"
)

// carries reports whether the usual codec of a call can carry its messages, as far as their types tell. A
// call for which it cannot takes the way on which the error is made.
func (c *caller) carries(args, reply any) bool {
	return c.carried.Has(args, reply) || c.finds(args, reply)
}

//go:noinline
func (c *caller) finds(args, reply any) bool {
	if checkCarried(c.usualCodec(args), args, reply) != nil {
		return false
	}
	c.carried.Add(args, reply)
	return true
}

// checkCarried tells what of a call a codec can never carry, by the types alone: found before the
// call is sent, and not by a server, or after the handler has run. Both messages may be nil.
func checkCarried(with codec.Codec, args, reply any) error {
	if err := fit.Carries(with, args); err != nil {
		return uncarried("request", args, with, err).WithReason(ReasonEncode)
	}
	if err := fit.Carries(with, reply); err != nil {
		return uncarried("reply", reply, with, err).WithReason(ReasonDecode)
	}
	return nil
}

func uncarried(what string, msg any, with codec.Codec, err error) *Error {
	return Errorf(InvalidArgument, "codec %s cannot carry a %s of type %T: %w", with.Name(), what, msg, err)
}
