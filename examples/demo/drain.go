package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

const (
	bookers      = 32 // callers during the restarts
	replacements = 3
	between      = 700 * time.Millisecond
)

// restarts replaces the server process again and again under its callers, and
// then compares what the callers know with what the servers know.
func (d *demo) restarts() error {
	heading(7, "Restarts under load")
	client, err := d.startClient(kept, "-do", "restarts", "-address", d.address, "-callers", strconv.Itoa(bookers))
	if err != nil {
		return err
	}
	line("%d callers call Ledger.Book, which takes %v, while the server process is replaced", bookers, bookTime)
	fmt.Println()
	line("%-10s %9s   %s", "process", "calls", "ended")
	var ran []executed
	server := d.first
	for range replacements {
		if !d.pause(between) {
			return d.ctx.Err()
		}
		// The next one waits for the port, and takes it when this one lets it go.
		next, err := d.startServer(d.address)
		if err != nil {
			return err
		}
		report, err := d.terminate(server)
		if err != nil {
			return err
		}
		if err := next.listens(); err != nil {
			return err
		}
		ran, server = append(ran, report), next
	}
	if !d.pause(between) {
		return d.ctx.Err()
	}
	var told booked
	if err := errors.Join(client.ask(), client.report(&told), client.wait()); err != nil {
		return err
	}
	report, err := d.terminate(server)
	if err != nil {
		return err
	}
	return compare(told, append(ran, report))
}

// terminate has a server shut down, and returns what it did in its life.
func (d *demo) terminate(server *process) (executed, error) {
	var report executed
	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return report, err
	}
	if err := server.report(&report); err != nil {
		return report, err
	}
	line("%-10d %9s   on SIGTERM, within %s", server.pid(), count(len(report.IDs)), short(report.Drain))
	return report, server.wait()
}

// pause waits, unless time is up.
func (d *demo) pause(t time.Duration) bool {
	select {
	case <-time.After(t):
		return true
	case <-d.ctx.Done():
		return false
	}
}

// compare finds out what became of every call.
func compare(told booked, ran []executed) error {
	times := make(map[int64]int)
	for _, server := range ran {
		for _, id := range server.IDs {
			times[id]++
		}
	}
	lost, duplicated := 0, 0
	for _, n := range times {
		if n > 1 {
			duplicated++
		}
	}
	for _, id := range told.Answered {
		if times[id] == 0 {
			lost++ // an answer without a call
		}
		delete(times, id)
	}
	lost += len(times) // calls without an answer
	fmt.Println()
	verdict := fmt.Sprintf("failed %d, lost %d, duplicated %d", told.Failed, lost, duplicated)
	if told.Failed > 0 || lost > 0 || duplicated > 0 || len(told.Answered) == 0 {
		return fmt.Errorf("of %d calls: %s; the first error: %s", len(told.Answered)+told.Failed, verdict, told.FirstError)
	}
	line("%s calls: %s", count(len(told.Answered)), good(verdict))
	line("This compares the ids that the client has answers for with those that the servers have run.")
	line("While no server has the port, calls wait for the next one: the slowest took %s.", short(told.Slowest))
	return nil
}

// booked is the report of the client.
type booked struct {
	Answered   []int64 // the ids of the calls that were answered, and rightly
	Failed     int
	FirstError string
	Slowest    time.Duration
}

// book lets callers call until the parent asks for the end.
func book(ctx context.Context, c *weft.Client, callers int, end <-chan struct{}) error {
	var mu sync.Mutex
	var all booked
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			mine := bookSome(ctx, c, int64(caller)<<32, end)
			mu.Lock()
			defer mu.Unlock()
			all.Answered = append(all.Answered, mine.Answered...)
			all.Slowest = max(all.Slowest, mine.Slowest)
			if all.Failed += mine.Failed; all.FirstError == "" {
				all.FirstError = mine.FirstError
			}
		})
	}
	wg.Wait()
	return tell(all)
}

// bookSome is one caller. Its calls have ids from first on.
func bookSome(ctx context.Context, c *weft.Client, first int64, end <-chan struct{}) booked {
	var b booked
	request, err := benchmark.New()
	for id := first; err == nil; id++ {
		select {
		case <-end:
			return b
		default:
		}
		request.Field22 = proto.Int64(id)
		reply := new(message)
		began := time.Now()
		if err = c.Call(ctx, "Ledger.Book", request, reply); err == nil {
			err = benchmark.Check(reply)
		}
		if err == nil && reply.GetField22() != id {
			err = fmt.Errorf("call %d got the reply of call %d", id, reply.GetField22())
		}
		b.Slowest = max(b.Slowest, time.Since(began))
		if err == nil {
			b.Answered = append(b.Answered, id)
		}
	}
	b.Failed, b.FirstError = 1, err.Error()
	return b
}
