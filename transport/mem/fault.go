package mem

import "math"

// flip is a change to one byte.
type flip struct {
	offset int64
	mask   byte
}

// Written returns how many bytes the writer has written so far, including bytes not read
// yet. A test that cuts at every byte learns the length here.
func (d *Direction) Written() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.written
}

// CutAfter cuts the connection, both ways, as soon as n bytes have been written in
// this direction: at once if they have been already, before the first byte if n is
// 0. The Write that would pass n writes up to it and then fails.
//
// What was written before the cut can still be read, unless a stall holds it back.
// After that reads, and at once all writes, fail with syscall.ECONNRESET.
func (d *Direction) CutAfter(n int64) {
	d.mu.Lock()
	d.cutAt = max(n, d.written)
	d.checkCutLocked()
	cut := d.cut
	d.mu.Unlock()
	if cut {
		d.opposite.sever()
	}
}

// checkCutLocked cuts this direction if its time has come. The caller holds the lock, and
// calls sever on the opposite direction once it does not.
func (d *Direction) checkCutLocked() {
	if d.written >= d.cutAt && !d.cut {
		d.cut = true
		d.wake()
	}
}

func (d *Direction) sever() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = true
	d.wake()
}

// Stall stops delivery now: reads wait, also for the end of the direction, while
// writes go on until the buffer is full. This is what a peer that vanished without
// closing looks like.
func (d *Direction) Stall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stallAt = d.delivered
}

// StallAfter stops delivery as soon as n bytes have been read, or now if they have
// been already.
func (d *Direction) StallAfter(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stallAt = max(n, d.delivered)
	d.readable.Broadcast() // the point may have moved further away
}

// Resume ends a stall, also one that has not begun. Nothing is lost.
func (d *Direction) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stallAt = math.MaxInt64
	d.readable.Broadcast()
}

// MaxRead lets one Read return at most n bytes, so that messages arrive in slices.
// Zero or less ends it.
func (d *Direction) MaxRead(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.maxRead = max(n, 0)
}

// FlipBit inverts one bit of the byte at offset when it is delivered: bit 0 is the
// lowest, and only the low three bits of bit count. A byte that was read before is
// out of reach.
func (d *Direction) FlipBit(offset int64, bit int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flips = append(d.flips, flip{offset: offset, mask: 1 << (bit & 7)})
}
