package outbuf

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// full returns a Writer whose buffer is full while a write is under way.
func full(t *testing.T) (*Writer, *fakeConn, *fakeOwner) {
	t.Helper()
	c := &fakeConn{gate: make(chan struct{})}
	w, o := newWriter(c)
	put(w, 0, 10)
	go w.Flush()
	synctest.Wait()
	for range 1<<20/wire.MaxPayload + 1 {
		put(w, 1, wire.MaxPayload)
	}
	return w, c, o
}

// Goroutines that wait for room go on when there is some, one after the other.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := full(t)
		var through atomic.Int32
		for range 100 {
			go func() {
				w.Lock()
				if err := w.AwaitRoomLocked(context.Background(), time.Time{}); err != nil {
					t.Error(err)
				}
				w.FrameLocked(wire.Header{Type: wire.TypeData}, make([]byte, wire.MaxPayload))
				w.FlushAndUnlock(false)
				w.AwaitRoom()
				through.Add(1)
			}()
		}
		synctest.Wait()
		if n := through.Load(); n != 0 {
			t.Errorf("%d goroutines have gone on while the buffer is full", n)
		}
		close(c.gate)
		synctest.Wait()
		if n := through.Load(); n != 100 {
			t.Errorf("%d goroutines have gone on, want 100", n)
		}
		resting(t, w)
	})
}

// A buffer that was filled and not flushed is flushed by the goroutine that waits for room.
func TestRoomWithoutLeader(t *testing.T) {
	c := new(fakeConn)
	w, _ := newWriter(c)
	w.resumes = true // as on a plain socket
	for range 1<<20/wire.MaxPayload + 1 {
		put(w, 1, wire.MaxPayload)
	}
	w.AwaitRoom()
	resting(t, w)
}

// A wait for room ends in time, and with its context.
func TestRoomInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := full(t)
		from := time.Now()
		w.Lock()
		if err := w.AwaitRoomLocked(context.Background(), from.Add(time.Second)); err != ErrLate || time.Since(from) != time.Second {
			t.Errorf("the wait ended with %v after %v", err, time.Since(from))
		}
		w.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		w.Lock()
		if err := w.AwaitRoomLocked(ctx, from.Add(time.Hour)); !errors.Is(err, context.Canceled) || time.Since(from) != 2*time.Second {
			t.Errorf("the wait ended with %v after %v", err, time.Since(from))
		}
		w.Unlock()
		close(c.gate)
		synctest.Wait()
		resting(t, w)
	})
}

// The end of the Writer ends the waits, and tells how much was handed to the connection.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := full(t)
		done := make(chan struct{})
		go func() {
			w.AwaitRoom()
			close(done)
		}()
		synctest.Wait()
		w.Lock()
		sent := w.CloseLocked()
		w.Unlock()
		<-done
		if sent != wire.HeaderSize+10 {
			t.Errorf("%d bytes were handed to the connection, want the first frame", sent)
		}
		close(c.gate)
		synctest.Wait()
		if n := c.count(); n != 1 {
			t.Errorf("%d writes, want none after the end", n)
		}
		put(w, 1, 10)
		w.Flush()
		if !w.Seal() || c.count() != 1 {
			t.Error("something is written after the end")
		}
	})
}
