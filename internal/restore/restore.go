// Package restore undoes the compression of messages that came from a peer: with limits that grow, for what a message becomes is not
// known before, and in turns where that is much.
package restore

import (
	"errors"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/turns"
)

// usual is how many times longer most messages become, at most, when their compression is undone.
const usual = 16

// Within calls f, which undoes the compression of a message of n bytes within a limit, with limits up to most that grow, while its
// error is compress.ErrTooLarge. Beyond turns.Small it does so in one turn: turn runs a function in its turn, or returns
// another error when there is none. Short messages are taken for small ones until they turn out not to be.
func Within(n, most int, turn func(func() error) error, f func(limit int) error) error {
	limit := min(usual*n, most)
	if n <= turns.Small/4 {
		limit = min(limit, turns.Small)
	}
	climb := func(to int) error {
		for {
			if err := f(limit); limit >= to || !errors.Is(err, compress.ErrTooLarge) {
				return err
			}
			limit = max(min(4*limit, to), 1)
		}
	}
	if limit <= turns.Small {
		if err := climb(min(turns.Small, most)); limit >= most || !errors.Is(err, compress.ErrTooLarge) {
			return err
		}
		limit = min(4*limit, most)
	}
	return turn(func() error { return climb(most) })
}
