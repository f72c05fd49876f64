package simulation

import (
	"context"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// call makes the calls of one caller, one after the other.
func (w *world) call(c *client, calls []callPlan) {
	for _, p := range calls {
		time.Sleep(p.Pause)
		w.callOnce(c, p)
	}
}

func (w *world) callOnce(c *client, p callPlan) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if p.Cancel > 0 {
		timer := time.AfterFunc(p.Cancel, cancel)
		defer timer.Stop()
	}
	var opts []weft.CallOption
	switch {
	case p.Timeout == 0:
	case p.Order.ID%2 == 0 && p.Kind != chat:
		opts = append(opts, weft.WithTimeout(p.Timeout))
	default:
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.Timeout)
		defer stop()
	}
	x := w.ledger.open(p.Order.ID, c.plan.Name, p.Kind, p)
	o := p.Order
	switch p.Kind {
	case once, repeatable:
		method := "Work.Once"
		if p.Kind == repeatable {
			method = "Work.Repeatable"
		}
		r, err := weft.Invoke[Receipt](ctx, c, method, &o, opts...)
		w.ledger.close(x, r, err)
	case note:
		w.ledger.close(x, nil, c.Notify(ctx, "Work.Note", &o, opts...))
	case chat:
		w.ledger.close(x, nil, w.chat(ctx, c, x, p))
	}
}

// chat sends messages and reads the answers, in step or both at once, as the number
// of the call says.
func (w *world) chat(ctx context.Context, c *client, x *entry, p callPlan) error {
	ctx = weft.WithMetadata(ctx, "id", strconv.FormatInt(x.id, 10))
	s, err := weft.OpenStream[Order, Receipt](ctx, c, "Work.Chat")
	if err != nil {
		return err
	}
	defer s.Close()
	var sender sync.WaitGroup
	defer sender.Wait()
	defer s.Close() // has the sender end
	sender.Go(func() {
		for n := range p.Messages {
			if s.Send(&Order{ID: int64(n), Back: p.Order.Back % 3000, Pad: p.Order.Pad}) != nil {
				return // the reader is told why
			}
			if x.id%3 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		s.CloseSend()
	})
	for n := 0; ; n++ {
		if n == p.Leave {
			return nil
		}
		r, err := s.Recv()
		if err == io.EOF {
			if n != p.Messages {
				w.ledger.wrong("the stream %d ended well after %d of %d messages", x.id, n, p.Messages)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if r.ID != int64(n) || len(r.Pad) != p.Order.Back%3000 {
			w.ledger.wrong("answer %d of the stream %d is number %d with %d bytes", n, x.id, r.ID, len(r.Pad))
		}
	}
}
