package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/examples/internal/benchmark"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// message is that of the published RPC comparisons, 581 bytes.
type message = benchmark.BenchmarkMessage

// runServer is the process of a server: it registers itself, serves until SIGTERM, and
// drains.
func runServer(args []string) error {
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	name := flags.String("name", "", "the `ID` of the server")
	endpoint := flags.String("registry", "", "where the registry is")
	journal := flags.String("journal", "", "the file for the numbers of the calls that ran")
	_ = flags.Parse(args)       // ExitOnError
	signal.Ignore(os.Interrupt) // the parent handles Ctrl-C
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()

	file, err := os.OpenFile(*journal, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	ledger := &Ledger{name: *name, journal: file}
	ledger.slow.Store(1)
	// It ends with the process.
	go ledger.obey(os.Stdin)

	reg, err := etcd.New(etcd.Config{Endpoints: []string{*endpoint}, Registry: registry.Config{Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg, Instance: weft.Instance{ID: *name}, Logger: slog.New(slog.DiscardHandler)})
	// With weft.Admin the command "weft top" sees what the server does.
	err = errors.Join(srv.Register(ledger), admin.Register(srv, nil))
	if err == nil {
		err = srv.ListenAndServe(ctx, "tcp://127.0.0.1:0")
	}
	return errors.Join(err, reg.Close(), file.Close())
}

// Ledger is the service.
type Ledger struct {
	name    string
	journal *os.File
	slow    atomic.Int64 // the factor by which the work takes longer
}

// workTime is how long the work of a call takes, so that some are always under way.
const workTime = 10 * time.Millisecond

// Read may run any number of times.
func (l *Ledger) Read(ctx context.Context, m *message) (*message, error) {
	return l.work(ctx, m)
}

// Book must not run twice. It notes the number of the call before anything else.
func (l *Ledger) Book(ctx context.Context, m *message) (*message, error) {
	if _, err := l.journal.Write(append(strconv.AppendInt(nil, m.GetField22(), 10), '\n')); err != nil {
		return nil, err
	}
	return l.work(ctx, m)
}

// work waits and answers with the name of the server.
func (l *Ledger) work(ctx context.Context, m *message) (*message, error) {
	timer := time.NewTimer(time.Duration(l.slow.Load()) * workTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		m.Field4 = proto.String(l.name)
		return benchmark.Answer(m), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Echo answers at once.
func (l *Ledger) Echo(_ context.Context, m *message) (*message, error) {
	return benchmark.Answer(m), nil
}

// Follow answers every message of a stream.
func (l *Ledger) Follow(_ context.Context, s *weft.Stream[message, message]) error {
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

// The other messages are plain Go.
type (
	Nothing  struct{}
	Number   struct{ N int64 }
	Question struct{ Text string }
	Answer   struct{ Text string }
)

// Close asks its caller for confirmation, over the connection that the caller made.
func (l *Ledger) Close(ctx context.Context, _ *Nothing) (*Answer, error) {
	return weft.Invoke[Answer](ctx, weft.PeerFrom(ctx), "Reader.Confirm", &Question{"close it?"})
}

// Wait blocks until its caller cancels it. It calls the caller when it begins, and with
// the time at which its context ended.
func (l *Ledger) Wait(ctx context.Context, _ *Nothing) (*Nothing, error) {
	caller := weft.PeerFrom(ctx)
	if err := caller.Call(ctx, "Reader.Began", &Nothing{}, nil); err != nil {
		return nil, err
	}
	<-ctx.Done()
	at := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return nil, caller.Call(ctx, "Reader.Ended", &Number{at.UnixNano()}, nil)
}

// Find finds nothing.
func (l *Ledger) Find(_ context.Context, n *Number) (*Nothing, error) {
	return nil, weft.Errorf(weft.NotFound, "there is no entry %d", n.N).WithReason("NO_SUCH_ENTRY")
}

// obey follows the commands of the parent, and ends the process when the parent has
// exited.
func (l *Ledger) obey(parent *os.File) {
	in := bufio.NewScanner(parent)
	for in.Scan() {
		var times int64
		if n, _ := fmt.Sscanf(in.Text(), "slow %d", &times); n == 1 {
			l.slow.Store(times)
		}
	}
	os.Exit(1)
}
