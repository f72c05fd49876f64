package mem

import (
	"io"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// firstRing is the size a buffer starts with; it doubles up to its limit as it is
// needed, so that thousands of quiet connections stay small.
const firstRing = 4 << 10

// Direction is the bytes that travel one way of a connection. Its exported methods
// are the faults a test can put there; see fault.go. They may be called at any time,
// from any goroutine. Offsets and counts are in bytes since the connection began.
type Direction struct {
	opposite *Direction // the other way of the same connection; never locked together

	mu       sync.Mutex
	readable sync.Cond // there may be something to read, or a reason to give up
	writable sync.Cond // there may be room, or a reason to give up
	buffer   ring

	written     int64 // bytes taken from the writer
	delivered   int64 // bytes given to the reader
	writing     bool  // a Write is under way; the next waits, so that they do not mix
	writeClosed bool  // the writing end closed
	readClosed  bool  // the reading end closed
	cut         bool  // the connection was cut

	readDeadline, writeDeadline deadline

	cutAt   int64 // written may not pass this
	stallAt int64 // delivered may not pass this
	maxRead int   // most bytes of one Read; 0 is no limit
	flips   []flip
}

func newDirection(size int) *Direction {
	d := &Direction{cutAt: math.MaxInt64, stallAt: math.MaxInt64}
	d.buffer.limit = size
	d.readable.L, d.writable.L = &d.mu, &d.mu
	return d
}

func (d *Direction) read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		switch {
		case d.readClosed:
			return 0, net.ErrClosed
		case d.readDeadline.passed:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		if n := d.deliverable(len(b)); n > 0 {
			d.deliver(b[:n])
			return n, nil
		}
		switch {
		case d.cut:
			return 0, syscall.ECONNRESET
		case d.writeClosed && d.buffer.size == 0 && d.delivered < d.stallAt:
			return 0, io.EOF
		}
		d.readable.Wait()
	}
}

// deliverable returns how many of at most n bytes a Read may have now.
func (d *Direction) deliverable(n int) int {
	n = min(n, d.buffer.size)
	if d.maxRead > 0 {
		n = min(n, d.maxRead)
	}
	return int(min(int64(n), d.stallAt-d.delivered))
}

func (d *Direction) deliver(b []byte) {
	d.buffer.take(b)
	for _, f := range d.flips {
		if i := f.offset - d.delivered; i >= 0 && i < int64(len(b)) {
			b[i] ^= f.mask
		}
	}
	d.delivered += int64(len(b))
	d.writable.Broadcast()
}

func (d *Direction) write(b []byte) (int, error) {
	n, cut, err := d.put(b)
	if cut {
		d.opposite.sever()
	}
	return n, err
}

// put is write without the effect on the opposite direction, which has a lock of its
// own.
func (d *Direction) put(b []byte) (n int, cut bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.writing {
		if err := d.refusal(); err != nil {
			return 0, d.cut, err
		}
		d.writable.Wait()
	}
	d.writing = true
	for n < len(b) {
		if err = d.refusal(); err != nil {
			break
		}
		room := min(int64(len(b)-n), d.cutAt-d.written)
		k := d.buffer.put(b[n : n+int(room)])
		if k == 0 {
			d.writable.Wait()
			continue
		}
		n += k
		d.written += int64(k)
		d.readable.Broadcast()
		d.checkCutLocked()
	}
	d.writing = false
	d.writable.Broadcast()
	return n, d.cut, err
}

// refusal returns why nothing can be written now; nil when a write can go on.
func (d *Direction) refusal() error {
	switch {
	case d.writeClosed:
		return net.ErrClosed
	case d.writeDeadline.passed:
		return os.ErrDeadlineExceeded
	case d.cut:
		return syscall.ECONNRESET
	case d.readClosed:
		return syscall.EPIPE
	}
	return nil
}

func (d *Direction) closeWrite() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeClosed = true
	d.writeDeadline.stop()
	d.wake()
}

func (d *Direction) closeRead() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readClosed = true
	d.readDeadline.stop()
	d.buffer = ring{limit: d.buffer.limit}
	d.wake()
}

func (d *Direction) wake() {
	d.readable.Broadcast()
	d.writable.Broadcast()
}

func (d *Direction) setReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readClosed {
		return net.ErrClosed
	}
	d.readDeadline.set(&d.readable, t)
	return nil
}

func (d *Direction) setWriteDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writeClosed {
		return net.ErrClosed
	}
	d.writeDeadline.set(&d.writable, t)
	return nil
}
