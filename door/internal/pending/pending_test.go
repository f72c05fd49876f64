package pending_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
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
