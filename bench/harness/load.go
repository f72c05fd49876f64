package harness

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/hist"
)

// load connects, warms up, reports that, measures when ordered to, reports, and
// waits for its input to end, so that the parent can read what it used.
func load(ctx context.Context, t *task, lines *lines) error {
	run, err := dial(ctx, t)
	if err != nil {
		return err
	}
	defer run.close()
	// Without a parent the result has no use: calls then fail, and callers stop.
	orders := make(chan string, 1)
	go func() { // ends when the input does, at the latest with the process
		defer run.close()
		for {
			order, err := lines.order()
			if err != nil {
				close(orders)
				return
			}
			orders <- order
		}
	}()
	warmup, err := run.warmUp()
	if err != nil {
		return err
	}
	if err := lines.send(contract.Event{Event: contract.Warm}); err != nil {
		return err
	}
	switch order, open := <-orders; {
	case !open:
		return fmt.Errorf("the input ended without %q", contract.OrderGo)
	case order != contract.OrderGo:
		return fmt.Errorf("load was told %q, want %q", order, contract.OrderGo)
	}
	result, err := run.measure()
	if err != nil {
		return err
	}
	result.Measured.Warmup = warmup.Seconds()
	if err := lines.send(*result); err != nil {
		return err
	}
	if order, told := <-orders; told {
		return fmt.Errorf("load was told %q after its result", order)
	}
	return nil
}

// loadRun is a client with its callers.
type loadRun struct {
	task       *task
	client     Client
	clock      clock
	callers    []*caller
	main, side *hist.Recorder
	deadline   atomic.Int64   // of the current phase, on the run's clock
	warm, done sync.WaitGroup // callers that have not ended the phase
	mains      sync.WaitGroup // those of done that make main calls
	begin      chan struct{}  // closed to begin the measured phase
	quit       chan struct{}  // closed when there will be none
	close      func()         // ends the connections and with them the callers
}

// dial connects and makes all callers.
func dial(ctx context.Context, t *task) (*loadRun, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	total := t.callers + t.sideCallers()
	client, err := dialAll(ctx, t, total)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", t.peer.Name(), err)
	}
	shards := 4 * runtime.GOMAXPROCS(0)
	r := &loadRun{
		task: t, client: client, clock: clock{time.Now()},
		main: hist.NewRecorder(shards), side: hist.NewRecorder(shards),
		begin: make(chan struct{}), quit: make(chan struct{}),
	}
	r.close = sync.OnceFunc(func() {
		close(r.quit)
		client.Close()
	})
	for i := range total {
		rpc, err := client.Caller(i)
		if err != nil {
			r.close()
			return nil, fmt.Errorf("make caller %d of %s: %w", i, t.peer.Name(), err)
		}
		r.callers = append(r.callers, r.newCaller(i, rpc))
	}
	return r, nil
}

func (r *loadRun) newCaller(i int, rpc Caller) *caller {
	main, side := methods(r.task.workload)
	c := &caller{
		rpc: rpc, clock: r.clock,
		main: main, side: side, every: r.task.sideEvery(), offset: int64(i) * 37,
		mainShard: r.main.Shard(i), sideShard: r.side.Shard(i),
	}
	if i >= r.task.callers { // a caller of side calls only
		c.every = 1
	} else if r.task.rate > 0 {
		c.pace = newPace(i, r.task.callers, r.task.rate)
	}
	return c
}
