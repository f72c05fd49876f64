package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// The reports of a server, in this order.
type (
	started   struct{}
	listening struct{ Address string }

	executed struct {
		IDs   []int64       // of the calls of Ledger.Book, in the order in which they began
		Drain time.Duration // how long the shutdown took
	}
)

// runServer is the process of a server: it serves until SIGTERM and drains.
func runServer(args []string) error {
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	address := flags.String("address", "", "where to listen")
	flags.Parse(args)
	leash()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	ledger := new(Ledger)
	srv := weft.NewServer(nil)
	err := errors.Join(
		weft.Handle(srv, "Hello.Say", say),
		srv.Register(&Hello{cancelled: make(chan int64, 1)}),
		srv.Register(ledger),
		weft.Handle(srv, "Process.CPU", cpu))
	if err != nil {
		return err
	}
	if err := tell(started{}); err != nil {
		return err
	}
	l, err := listen(ctx, srv, *address)
	if err != nil {
		return err
	}
	if err := tell(listening{l.Addr().String()}); err != nil {
		return err
	}
	served := make(chan error, 1)
	// It ends with Shutdown.
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	began := time.Now()
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		return err
	}
	return tell(executed{ledger.ids, time.Since(began)})
}

// listen waits for the port as long as another server has it.
func listen(ctx context.Context, srv *weft.Server, address string) (net.Listener, error) {
	for {
		l, err := srv.Listen(ctx, "tcp://"+address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// say is the method of the published comparisons.
func say(_ context.Context, m *benchmark.BenchmarkMessage) (*benchmark.BenchmarkMessage, error) {
	return benchmark.Answer(m), nil
}

// Hello is the service of the first sections. Register tells by their types which
// of its methods are streams.
type Hello struct {
	cancelled chan int64 // when Wait saw that its call was cancelled
}

// The messages beside the published one are plain Go.
type (
	Nothing struct{}
	Number  struct{ N int64 }
)

// Chat answers every message of a stream.
func (h *Hello) Chat(_ context.Context, s *weft.Stream[benchmark.BenchmarkMessage, benchmark.BenchmarkMessage]) error {
	for m, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(benchmark.Answer(m)); err != nil {
			return err
		}
	}
	return nil
}

// Wait waits for the end of its context, and notes when that was.
func (h *Hello) Wait(ctx context.Context, _ *Nothing) (*Nothing, error) {
	<-ctx.Done()
	h.cancelled <- time.Now().UnixNano()
	return nil, ctx.Err()
}

// Cancelled tells when Wait saw its end, in nanoseconds since 1970.
func (h *Hello) Cancelled(ctx context.Context, _ *Nothing) (*Number, error) {
	select {
	case at := <-h.cancelled:
		return &Number{at}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Find finds nothing.
func (h *Hello) Find(_ context.Context, n *Number) (*Nothing, error) {
	return nil, weft.Errorf(weft.NotFound, "there is no message number %d", n.N).WithReason("NO_SUCH_MESSAGE")
}

// Ledger keeps the ids of the calls that ran here.
type Ledger struct {
	mu  sync.Mutex
	ids []int64
}

// bookTime is how long a call of Book takes, so that some are always under way.
const bookTime = 5 * time.Millisecond

// Book notes the id of the call, which field22 holds, and takes its time.
func (l *Ledger) Book(ctx context.Context, m *benchmark.BenchmarkMessage) (*benchmark.BenchmarkMessage, error) {
	l.mu.Lock()
	l.ids = append(l.ids, m.GetField22())
	l.mu.Unlock()
	select {
	case <-time.After(bookTime):
		return benchmark.Answer(m), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cpu tells how much processor time this process has had, in nanoseconds.
func cpu(context.Context, *Nothing) (*Number, error) {
	used, err := cpuTime()
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", os.Getpid(), err)
	}
	return &Number{int64(used)}, nil
}
