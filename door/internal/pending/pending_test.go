package pending_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/internal/due"
)

// conn takes whatever is written.
type conn struct{ net.Conn }

func (conn) Write(b []byte) (int, error)      { return len(b), nil }
func (conn) SetWriteDeadline(time.Time) error { return nil }
func (conn) Close() error                     { return nil }

// A call has the answer that has come, also when the connection ends before the goroutine that wrote the request goes on.
func TestAnswerBeforeEnd(t *testing.T) {
	for range 1000 {
		var c *pending.Calls[string]
		var wg sync.WaitGroup
		out := combine.New(conn{}, 1<<10, time.Minute, func(b, message []byte) ([]byte, error) {
			c.Answer(1, "answer")
			wg.Go(func() { c.Lost(io.EOF) }) // as soon as the request is written, or somewhat before
			return append(b, message...), nil
		})
		c = pending.New[string](conn{}, out)
		got, err := c.Do(t.Context(), false, func(uint64) ([][]byte, error) { return [][]byte{{1}}, nil })
		if got != "answer" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		wg.Wait()
	}
}

// A request that cannot be made ends its own call and no other, and gives the place of a one-way call back.
func TestRequestCannotBeMade(t *testing.T) {
	out := combine.New(conn{}, 1<<10, time.Minute, func(b, message []byte) ([]byte, error) { return append(b, message...), nil })
	c := pending.New[string](conn{}, out)
	defer c.Close()
	why := errors.New("too long")
	for _, oneway := range []bool{false, true} {
		_, err := c.Do(t.Context(), oneway, func(uint64) ([][]byte, error) { return nil, why })
		var e *weft.Error
		if !errors.As(err, &e) || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent || e.Reason != weft.ReasonEncode || !errors.Is(err, why) {
			t.Errorf("one-way %v: %v", oneway, err)
		}
	}
	if err := c.Err(); err != nil {
		t.Errorf("the connection has ended: %v", err)
	}
	c.Drain(nil) // it waits for the places of all one-way calls
	got, err := c.Do(t.Context(), false, func(seq uint64) ([][]byte, error) {
		go c.Answer(seq, "answer") // it ends at once: the channel of the call has room
		return [][]byte{{1}}, nil
	})
	if got != "answer" || err != nil {
		t.Errorf("another call: %q, %v", got, err)
	}
}

// TestMemoryIsUsedAgain makes calls one after the other, some of which are given up: each gets its own answer, and those that are answered
// allocate no more than a context and what starts a goroutine that writes.
func TestMemoryIsUsedAgain(t *testing.T) {
	var c *pending.Calls[uint64]
	gone := false // the server answers no more
	request := [][]byte{{0}}
	out := combine.New(conn{}, 1<<10, time.Minute, func(b, _ []byte) ([]byte, error) { return append(b, 1), nil })
	c = pending.New[uint64](conn{}, out)
	defer c.Close()
	var last uint64
	messages := func(seq uint64) ([][]byte, error) {
		if last = seq; !gone {
			c.Answer(seq, seq)
		}
		return request, nil
	}
	call := func() {
		ctx := due.After(t.Context(), time.Minute)
		defer ctx.End()
		if got, err := c.Do(ctx, false, messages); got != last || err != nil {
			t.Errorf("call %d has answer %d, %v", last, got, err)
		}
	}
	for range 100 {
		call()
		gone = true
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := c.Do(short, false, messages); weft.CodeOf(err) != weft.DeadlineExceeded {
			t.Errorf("a call without an answer ended with %v", err)
		}
		cancel()
		gone = false
		c.Answer(last, 0) // too late
	}
	if n := testing.AllocsPerRun(100, call); n > 4 {
		t.Errorf("%v allocations per call, want 4 at most", n)
	}
}
