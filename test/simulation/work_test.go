package simulation

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// Order is what a caller wants done.
type Order struct {
	ID       int64
	Takes    time.Duration
	Stubborn bool   // the handler does not look at its context
	Fail     uint16 // the code of the error that the handler returns
	Back     int    // bytes of the reply
	Nest     int    // how many calls the handler makes back to its caller
	Pad      []byte
}

// Receipt is what a handler answers.
type Receipt struct {
	ID   int64
	Host string
	Pad  []byte
}

// pad is bytes that only one number gives.
func pad(id int64, n int) []byte {
	text := strconv.FormatInt(id, 36) + "."
	return bytes.Repeat([]byte(text), n/len(text)+1)[:n]
}

// worker is the service of one server, or of a client that is called back.
type worker struct {
	name   string
	ledger *ledger
	slow   atomic.Int64 // added to what every call takes
}

func (w *worker) do(ctx context.Context, o *Order) (*Receipt, error) {
	w.ledger.ran(o.ID, w.name, weft.AttemptFrom(ctx))
	if d := o.Takes + time.Duration(w.slow.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		done := ctx.Done()
		if o.Stubborn {
			done = nil
		}
		select {
		case <-timer.C:
		case <-done:
			return nil, ctx.Err()
		}
	}
	for range o.Nest {
		if err := w.nested(ctx); err != nil {
			return nil, err
		}
	}
	if o.Fail != 0 {
		return nil, weft.Errorf(weft.Code(o.Fail), "the order says so")
	}
	return &Receipt{ID: o.ID, Host: w.name, Pad: pad(o.ID, o.Back)}, nil
}

// nested calls the caller back.
func (w *worker) nested(ctx context.Context) error {
	o := &Order{ID: w.ledger.fresh(), Takes: time.Millisecond, Back: 10}
	x := w.ledger.open(o.ID, w.name, once, callPlan{Order: *o, Kind: once})
	if at, ok := ctx.Deadline(); ok {
		x.plan.Timeout = max(time.Until(at), 1)
	}
	x.nested = true
	r, err := weft.Invoke[Receipt](ctx, weft.PeerFrom(ctx), "Back.Once", o)
	w.ledger.close(x, r, err)
	return err
}

// chat answers each message of a stream.
func (w *worker) chat(ctx context.Context, s *weft.Stream[Order, Receipt]) error {
	id, err := strconv.ParseInt(weft.MetadataFrom(ctx).Get("id"), 10, 64)
	if err != nil {
		return weft.Errorf(weft.InvalidArgument, "a stream without a number: %w", err)
	}
	w.ledger.ran(id, w.name, weft.AttemptFrom(ctx))
	n := int64(0)
	for o, err := range s.All() {
		if err != nil {
			return err
		}
		if o.ID != n {
			w.ledger.wrong("message %d of the stream %d came to the server as number %d", o.ID, id, n)
		}
		n++
		if err := s.Send(&Receipt{ID: o.ID, Host: w.name, Pad: pad(o.ID, o.Back)}); err != nil {
			return err
		}
	}
	return nil
}

// register registers the methods under the name of a service.
func (w *worker) register(r weft.Registrar, service string) error {
	for _, err := range []error{
		weft.Handle(r, service+".Once", w.do),
		weft.Handle(r, service+".Repeatable", w.do, weft.Idempotent()),
		weft.Handle(r, service+".Note", w.do),
		weft.HandleStream(r, service+".Chat", w.chat),
	} {
		if err != nil {
			return fmt.Errorf("register %s: %w", service, err)
		}
	}
	return nil
}
