package turns

import (
	"context"
	"runtime"
)

// Half are turns for what computes for long: as many are taken at the same time as half of the processors are. While all processors
// compute for long, the runtime looks at the network only every 10 ms. The zero value is ready.
type Half struct{ turns Turns }

// Take waits for a turn. If ctx has ended then, it returns the error of ctx and has taken none.
func (h *Half) Take(ctx context.Context) error {
	h.turns.Take(int32(max(1, runtime.GOMAXPROCS(0)/2)))
	if err := ctx.Err(); err != nil {
		h.turns.Give()
		return err
	}
	return nil
}

// Give gives a turn back.
func (h *Half) Give() { h.turns.Give() }
