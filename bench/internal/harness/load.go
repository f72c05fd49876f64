package harness

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/bench/internal/hist"
)

// Load is the client child: it reads its task from in, connects, warms up, tells
// the parent, measures when told to, and reports on out.
func Load(ctx context.Context, peers Peers, in io.Reader, out io.Writer) error {
	control := newLines(in, out)
	err := load(ctx, peers, control)
	if err != nil {
		_ = control.send(event{Event: eventFailed, Error: err.Error()})
	}
	return err
}

func load(ctx context.Context, peers Peers, control *lines) error {
	var task Task
	if err := control.receive(&task); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	peer, err := peers.Find(task.Peer)
	if err != nil {
		return err
	}
	run, err := dial(ctx, peer, task)
	if err != nil {
		return err
	}
	defer run.close()
	// Without a parent nobody wants the result: calls then fail, and callers stop.
	orders := make(chan order, 1)
	go func() { // ends when in ends, at the latest with the process
		defer run.close()
		for {
			var o order
			if control.receive(&o) != nil {
				close(orders)
				return
			}
			orders <- o
		}
	}()
	warmup, err := run.warmUp()
	if err != nil {
		return err
	}
	if err := control.send(event{Event: eventWarm}); err != nil {
		return err
	}
	if o := <-orders; o.Order != orderGo {
		return fmt.Errorf("the client child was told %q, want %q", o.Order, orderGo)
	}
	result, err := run.measure()
	if err != nil {
		return err
	}
	result.Warmup = warmup
	return control.send(event{Event: eventResult, Result: result})
}

// loadRun is a client with its callers.
type loadRun struct {
	task       Task
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
func dial(ctx context.Context, peer Peer, task Task) (*loadRun, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	total := task.Callers + task.Workload.sideCallers()
	client, err := peer.Dial(ctx, DialConfig{
		Addr: task.Addr, Codec: task.Codec, Callers: total, Conns: task.Conns,
	})
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", task.Peer, err)
	}
	shards := 4 * runtime.GOMAXPROCS(0)
	r := &loadRun{
		task: task, client: client, clock: clock{time.Now()},
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
			return nil, fmt.Errorf("make caller %d of %s: %w", i, task.Peer, err)
		}
		r.callers = append(r.callers, r.newCaller(i, rpc))
	}
	return r, nil
}

func (r *loadRun) newCaller(i int, rpc Caller) *caller {
	w := r.task.Workload
	c := &caller{
		rpc: rpc, clock: r.clock,
		main: w.main(), side: w.side(), every: w.sideEvery(), offset: int64(i) * 37,
		mainShard: r.main.Shard(i), sideShard: r.side.Shard(i),
	}
	if i >= r.task.Callers { // a caller of side calls only
		c.every = 1
	}
	return c
}
