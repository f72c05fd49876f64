package restore

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/turns"
)

func TestMain(m *testing.M) { leak.Main(m) }

// The limits grow until the message fits, or to the most that is allowed, and those of large messages are tried in one turn.
func TestWithin(t *testing.T) {
	const k, small, most = 1 << 10, turns.Small, 4 << 20
	for _, c := range []struct {
		n, size, most int
		want          []int // limits
		turned        int   // how many of them in a turn
	}{
		{100, 1000, most, []int{1600}, 0},
		{100, 2000, most, []int{1600, 6400}, 0},
		{4 * k, small, most, []int{small}, 0},
		{4 * k, small + 1, most, []int{small, 4 * small}, 1},
		{16 * k, small, most, []int{small}, 0},
		{16*k + 1, 20 * k, most, []int{16 * (16*k + 1)}, 1},
		{100, 2 << 20, most, []int{1600, 6400, 25600, small, 4 * small, 16 * small, most}, 3},
		{100, most + 1, most, []int{1600, 6400, 25600, small, 4 * small, 16 * small, most}, 3},
		{1 << 20, most + 1, most, []int{most}, 1},
		{1 * k, small, 40 * k, []int{16 * k, 40 * k}, 0},
		{8 * k, small, 40 * k, []int{40 * k}, 0},
		{0, 1, 10, []int{0, 1}, 0},
		{5, 1, 0, []int{0}, 0},
	} {
		t.Run(fmt.Sprint(c.n, " bytes become ", c.size), func(t *testing.T) {
			var limits []int
			inTurn, turned, taken := false, 0, 0
			err := Within(c.n, c.most, func(f func() error) error {
				inTurn = true
				taken++
				defer func() { inTurn = false }()
				return f()
			}, func(limit int) error {
				if limits = append(limits, limit); inTurn {
					turned++
				}
				if inTurn != (limit > small) {
					t.Errorf("limit %d, in a turn %v", limit, inTurn)
				}
				if c.size > limit {
					return fmt.Errorf("wrapped: %w", compress.ErrTooLarge)
				}
				return nil
			})
			if !slices.Equal(limits, c.want) || turned != c.turned || taken > 1 {
				t.Errorf("the limits are %v, %d of them in %d turns; want %v, %d", limits, turned, taken, c.want, c.turned)
			}
			if tooLarge := errors.Is(err, compress.ErrTooLarge); tooLarge != (c.size > c.most) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Other errors, and that of a turn that does not come, are returned.
func TestErrors(t *testing.T) {
	broken, late := errors.New("broken"), errors.New("late")
	n := 0
	f := func(int) error { n++; return broken }
	if err := Within(10, 1<<20, func(func() error) error { return late }, f); err != broken || n != 1 {
		t.Errorf("a message that is broken: %v, after %d calls", err, n)
	}
	if err := Within(1<<20, 1<<20, func(func() error) error { return late }, f); err != late || n != 1 {
		t.Errorf("a turn that does not come: %v, after %d calls", err, n)
	}
}
