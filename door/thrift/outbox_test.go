package thrift

import (
	"io"
	"math"
	"net"
	"testing"
	"time"
)

// TestLongWriteTimeout: a time of writes that is as long as can be does not overflow, so that every write would be too late.
func TestLongWriteTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{time.Hour, math.MaxInt64 / 2, math.MaxInt64/5*4 + 1, math.MaxInt64} {
		here, there := net.Pipe()
		o := newOutbox(here, 1<<10, timeout, func(int) {}, nil)
		got := make(chan []byte, 1)
		// It ends with the connection, which the test closes.
		go func() {
			b, _ := io.ReadAll(there)
			got <- b
		}()
		for range 2 { // the second write finds the deadline of the first
			if err := o.write([]byte("reply")); err != nil {
				t.Errorf("with a timeout of %v: %v", timeout, err)
			}
		}
		if left := time.Until(o.until); left < min(timeout, 24*time.Hour)-time.Minute {
			t.Errorf("with a timeout of %v a write has %v", timeout, left)
		}
		here.Close()
		if b := <-got; string(b) != "replyreply" {
			t.Errorf("with a timeout of %v came %q", timeout, b)
		}
	}
}
