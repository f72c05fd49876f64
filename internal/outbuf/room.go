package outbuf

import (
	"context"
	"errors"
	"sync"
	"time"
)

// room is what goroutines wait at while too much waits to be written. The lock of the Writer guards it.
type room struct {
	sync.Cond
	waiting int
}

// wakeLocked wakes the next goroutine that waits.
func (r *room) wakeLocked() {
	if r.waiting > 0 {
		r.Signal()
	}
}

// ErrLate is the error of AwaitRoomLocked when its time is over.
var ErrLate = errors.New("the time is over and the write buffer is full")

// AwaitRoom waits until there is room for more or the Writer is closed.
func (w *Writer) AwaitRoom() {
	w.Lock()
	defer w.Unlock()
	for w.FullLocked() && !w.closed {
		w.awaitWriteLocked()
	}
	w.passRoomLocked()
}

// AwaitRoomLocked waits until there is room for more or the Writer is closed, and returns nil then; the error of ctx
// when ctx has ended, and ErrLate after due, if that is not zero. Meanwhile it releases the lock.
func (w *Writer) AwaitRoomLocked(ctx context.Context, due time.Time) error {
	wake := func() {
		w.Lock()
		w.RelieveLocked() // it may be this caller that writes
		w.room.Broadcast()
		w.Unlock()
	}
	stop := context.AfterFunc(ctx, wake)
	defer stop()
	if !due.IsZero() {
		t := time.AfterFunc(time.Until(due), wake)
		defer t.Stop()
	}
	for w.FullLocked() && !w.closed {
		err := ctx.Err()
		if err == nil && !due.IsZero() && !time.Now().Before(due) {
			err = ErrLate
		}
		if err != nil {
			w.passRoomLocked()
			return err
		}
		w.awaitWriteLocked()
	}
	w.passRoomLocked()
	return nil
}

// awaitWriteLocked waits for a write to end. Meanwhile it releases the lock. When there is no leader, the
// goroutines that filled the buffer have not flushed it yet, and may be waiting too: then it
// flushes the buffer.
func (w *Writer) awaitWriteLocked() {
	if w.mode == idle {
		w.FlushCallAndUnlock(false, 0) // it may be a caller or a sender with a deadline
		w.Lock()
		return
	}
	w.room.waiting++
	w.room.Wait()
	w.room.waiting--
}

// passRoomLocked wakes the next waiting goroutine, if there is still room. Every goroutine that has waited calls it.
func (w *Writer) passRoomLocked() {
	if !w.FullLocked() {
		w.room.wakeLocked()
	}
}
