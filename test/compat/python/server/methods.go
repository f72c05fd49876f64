package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// register registers the same methods with every server.
func register(s *weft.Server) error {
	log := &journal{}
	return errors.Join(
		weft.HandleRaw(s, "Echo.Say", func(_ context.Context, req, buf []byte) ([]byte, error) {
			return append(buf, req...), nil
		}),
		weft.HandleRaw(s, "Echo.Wait", func(ctx context.Context, _, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		weft.HandleRaw(s, "Echo.Panic", func(context.Context, []byte, []byte) ([]byte, error) {
			panic("as asked")
		}),
		weft.HandleStream(s, "Echo.Chat", chat),
		weft.HandleStream(s, "Echo.Stall", func(ctx context.Context, _ *weft.Stream[[]byte, []byte]) error {
			<-ctx.Done()
			return ctx.Err()
		}),
		weft.HandleStream(s, "Echo.Quit", quit),
		weft.HandleServerStream(s, "Feed.Blocks", blocks),
		weft.HandleClientStream(s, "Sink.Sum", sum),
		weft.HandleRaw(s, "Log.Write", log.write),
		weft.HandleRaw(s, "Log.Read", log.read),
		weft.HandleRaw(s, "Log.Note", log.note),
		weft.HandleRaw(s, "Log.Notes", log.noted),
		s.Register(Arith{}),
		s.Register(Orders{}),
	)
}

// Arith is the service of many examples.
type Arith struct{}

// Args are the two factors.
type Args struct{ A, B int }

// Product is the result.
type Product struct{ C int }

// Mul multiplies.
func (Arith) Mul(_ context.Context, args *Args) (*Product, error) {
	return &Product{C: args.A * args.B}, nil
}

// Orders shows errors and metadata.
type Orders struct{}

// Order names an order.
type Order struct{ ID int }

// Get finds no order, and says so in every way that an error has.
func (Orders) Get(ctx context.Context, o *Order) (*Order, error) {
	if err := weft.SetReplyMetadata(ctx, "shard", "7"); err != nil {
		return nil, err
	}
	e := weft.Errorf(weft.NotFound, "no such order: %d", o.ID).WithReason("ORDER_NOT_FOUND")
	return nil, e.WithDetail("app.Order", []byte{0x08, byte(o.ID)})
}

// Tags sends the caller's metadata back.
func (Orders) Tags(ctx context.Context, o *Order) (*Order, error) {
	var pairs []string
	for key, value := range weft.MetadataFrom(ctx).All() {
		pairs = append(pairs, key, value)
	}
	return o, weft.SetReplyMetadata(ctx, pairs...)
}

// chat sends every message back.
func chat(_ context.Context, s *weft.Stream[[]byte, []byte]) error {
	for {
		msg, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(msg); err != nil {
			return err
		}
	}
}

// quit answers one message and ends the stream with an error, while its caller
// may still be sending.
func quit(_ context.Context, s *weft.Stream[[]byte, []byte]) error {
	msg, err := s.Recv()
	if err != nil {
		return err
	}
	if err := s.Send(msg); err != nil {
		return err
	}
	return weft.Errorf(weft.Aborted, "room closed").WithReason("CLOSED")
}

// Block is a message of some length.
type Block struct {
	N    int
	Data string
}

// blocks sends as many messages as the request says: small ones and ones of
// 200,000 bytes in turn, which must not overtake each other. Metadata comes last.
func blocks(ctx context.Context, o *Order, out *weft.Sender[Block]) error {
	for i := range o.ID {
		if err := out.Send(&Block{N: i, Data: strings.Repeat("x", i%2*200_000)}); err != nil {
			return err
		}
	}
	return weft.SetReplyMetadata(ctx, "blocks", "sent")
}

// sum adds up what it is sent.
func sum(_ context.Context, in *weft.Receiver[Order]) (*Order, error) {
	total := &Order{}
	for o, err := range in.All() {
		if err != nil {
			return nil, err
		}
		total.ID += o.ID
	}
	return total, nil
}

// journal counts what one-way calls have brought.
type journal struct {
	lines atomic.Int32
	mu    sync.Mutex
	notes []byte
}

func (j *journal) write(_ context.Context, _, _ []byte) ([]byte, error) {
	j.lines.Add(1)
	return nil, nil
}

func (j *journal) read(_ context.Context, _, buf []byte) ([]byte, error) {
	return append(buf, byte(j.lines.Load())), nil
}

// note keeps the first byte of a request, in the order in which requests come.
func (j *journal) note(_ context.Context, req, _ []byte) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, req[:min(1, len(req))]...)
	return nil, nil
}

func (j *journal) noted(_ context.Context, _, buf []byte) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append(buf, j.notes...), nil
}
