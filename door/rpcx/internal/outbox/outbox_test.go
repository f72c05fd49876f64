package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/rpcx/internal/outbox"
)

// TestWrites has many goroutines send, in every way: all bytes arrive, each piece whole.
func TestWrites(t *testing.T) {
	near, far := net.Pipe()
	o := outbox.New(near, 1<<10, 20*time.Second)
	var senders sync.WaitGroup
	const each = 200
	for i := range 8 {
		senders.Go(func() {
			piece := bytes.Repeat([]byte{byte('a' + i)}, 100)
			for n := range each {
				if err := o.LockWithRoom(t.Context()); err != nil {
					t.Error(err)
					return
				}
				o.SetBufferLocked(append(o.BufferLocked(), piece...))
				switch n % 3 {
				case 0:
					o.SendAndUnlock()
				case 1:
					o.FlushAndUnlock(true)
				default:
					o.Unlock()
					o.Settle()
				}
			}
		})
	}
	got := make(chan []byte, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		b, _ := io.ReadAll(far) // the error is that of the end
		got <- b
	})
	senders.Wait()
	o.Settle()
	near.Close()
	reader.Wait()
	b := <-got
	if len(b) != 8*each*100 {
		t.Fatalf("%d bytes arrived", len(b))
	}
	for ; len(b) > 0; b = b[100:] {
		if bytes.Count(b[:100], b[:1]) != 100 {
			t.Fatalf("a piece is %q", b[:100])
		}
	}
}

// TestRoom waits for room until its context ends, or the writing does.
func TestRoom(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	o := outbox.New(near, 10, 50*time.Millisecond)
	o.Lock()
	o.SetBufferLocked(make([]byte, 11))
	o.Unlock()
	if !o.Full() {
		t.Error("it is not full")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.LockWithRoom(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("no room: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if o.LockWithRoom(t.Context()) == nil { // what is being written takes no room
			o.Unlock()
		}
	})
	o.Lock()
	o.FlushAndUnlock(false) // no bytes are taken within the time of a write
	wg.Wait()
	if o.Failure() == nil {
		t.Error("the writing has not ended")
	}
	o.Lock()
	if !o.EndedLocked() || !o.IdleLocked() || o.FullLocked() {
		t.Error("the writing goes on")
	}
	o.Unlock()
	o.Close()
	o.Settle()
}
