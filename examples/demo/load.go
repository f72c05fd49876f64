package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// How many callers there are of each method. A caller calls, checks the reply, and calls
// again.
const (
	clients = 2 // which they share
	readers = 16
	bookers = 16
)

// load is the calls.
type load struct {
	ctx     context.Context
	clients []*client
	end     chan struct{} // closed when the callers are to stop
	ended   sync.Once
	callers sync.WaitGroup

	mu    sync.Mutex
	tally *tally          // of the present phase
	total tally           // of all phases
	seen  map[string]bool // servers that have answered
	books []booking
}

// booking is the result of a call of Ledger.Book.
type booking struct {
	number int64
	told   outcome
}

// outcome is what the result of a call says about its handler.
type outcome int

const (
	ran outcome = iota
	didNotRun
	unknown
)

func (o outcome) String() string {
	return [...]string{"it ran", "it did not run", "it may have run"}[o]
}

func newLoad(ctx context.Context) *load {
	return &load{ctx: ctx, end: make(chan struct{}), tally: newTally(), total: *newTally(), seen: make(map[string]bool)}
}

// begin starts the callers.
func (l *load) begin() {
	for i := range readers {
		l.callers.Go(func() { l.call(i, "Ledger.Read") }) // it ends with stop or l.ctx
	}
	for i := range bookers {
		l.callers.Go(func() { l.call(readers+i, "Ledger.Book") }) // so does this one
	}
}

// stop lets the callers end their calls.
func (l *load) stop() {
	l.ended.Do(func() { close(l.end) })
	l.callers.Wait()
}

// close closes the clients.
func (l *load) close() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// call is one caller. Each of its calls has a number of its own.
func (l *load) call(caller int, method string) {
	c := l.clients[caller%len(l.clients)]
	request, err := benchmark.New()
	if err != nil {
		panic(err) // introduce has made one before
	}
	for number := int64(caller) << 32; l.ctx.Err() == nil; number++ {
		select {
		case <-l.end:
			return
		default:
		}
		request.Field22 = proto.Int64(number)
		began := time.Now()
		reply, err := weft.Invoke[message](l.ctx, c, method, request)
		took := time.Since(began)
		if err == nil {
			err = right(reply, number)
		}
		l.note(method, number, reply, took, err)
		if err != nil {
			_ = pause(l.ctx, workTime) // the loop checks l.ctx
		}
	}
}

// right checks that a reply is that of the call with a number.
func right(reply *message, number int64) error {
	if reply.GetField22() != number {
		return fmt.Errorf("call %d got the reply of call %d", number, reply.GetField22())
	}
	return benchmark.Check(reply)
}

// note counts a call.
func (l *load) note(method string, number int64, reply *message, took time.Duration, err error) {
	if l.ctx.Err() != nil {
		return // the demonstration was interrupted, and the call with it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	server := reply.GetField4()
	if err == nil {
		l.seen[server] = true
	}
	l.tally.add(method, server, took, err)
	l.total.add(method, server, 0, err)
	if method == "Ledger.Book" {
		l.books = append(l.books, booking{number, outcomeOf(err)})
	}
}

// outcomeOf returns what an error says about whether the handler ran.
func outcomeOf(err error) outcome {
	if err == nil {
		return ran
	}
	e, ok := errors.AsType[*weft.Error](err)
	switch {
	case ok && (e.Outcome == weft.NotSent || e.Outcome == weft.Refused):
		return didNotRun
	case ok && e.Outcome == weft.Executed:
		return ran
	}
	return unknown
}

// answered tells whether a server has answered yet.
func (l *load) answered(server string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[server]
}

// next begins a tally, and returns the one before.
func (l *load) next() *tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tally
	t.lasted = time.Since(t.began)
	l.tally = newTally()
	return t
}

// peek returns the numbers of the present phase, so far.
func (l *load) peek() (calls int, failed int, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally.all(), l.tally.failed(), time.Since(l.tally.began)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
