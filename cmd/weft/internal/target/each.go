package target

import (
	"context"
	"errors"
	"time"

	"github.com/weftrpc/weft"
)

// leastShare is the least time that Each gives a server, as long as there is any left.
const leastShare = time.Second

// Each asks the servers of instances one after the other until one answers, which is when ask returns nil. Each has a share
// of the time that ctx has left, so that one that does not answer leaves time for those behind it. The error is that of
// all of them.
func Each(ctx context.Context, instances []weft.Instance, ask func(ctx context.Context, address string) error) error {
	var failed error
	for n, i := range instances {
		asking, cancel := Share(ctx, len(instances)-n)
		err := ask(asking, i.Address)
		cancel()
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// Share returns ctx with one of so many shares of the time that it has left.
func Share(ctx context.Context, of int) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok || of < 2 {
		return context.WithCancel(ctx)
	}
	end := time.Now().Add(max(time.Until(until)/time.Duration(of), leastShare))
	if !end.Before(until) { // of two timers for one moment either may fire first
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end)
}
