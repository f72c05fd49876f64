package weft

import (
	"context"
	"strconv"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// attemptKey is the metadata key that tells the server how many times a call was tried before.
const attemptKey = "weft-attempt"

// WithAttempt tells the server how many times the call was tried before; 0, for a first attempt, is not sent. It is for what tries calls
// again: package cluster does it by itself.
func WithAttempt(tried int) CallOption {
	return optionFunc(func(o *callOptions) error {
		if tried < 0 {
			return Errorf(InvalidArgument, "weft: a call cannot have been tried %d times", tried)
		}
		o.attempt = tried
		return nil
	})
}

// AttemptFrom returns, in a handler, how many times its caller had tried the call before; 0 if this is the first attempt, or if ctx is not
// that of a handler. A handler's own calls should not be tried again when it is above 0: the caller tries again already, and over several
// hops the attempts would multiply.
func AttemptFrom(ctx context.Context) int {
	c := session.FromContext(ctx)
	if c == nil {
		return 0
	}
	for rest := c.Meta(); rest != ""; {
		var key, value string
		if key, value, rest = wire.NextPair(rest); key == attemptKey {
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				return n
			}
			return 0
		}
	}
	return 0
}
