// Package buffer keeps memory for bytes to be used again.
package buffer

import "sync"

// Buffer is a reusable piece of memory. The code that takes one owns it, alone, until Release.
type Buffer struct{ B []byte }

const (
	// Small is the largest buffer kept among the small ones, and keepBuffer
	// the largest kept at all.
	Small      = 64 << 10
	Least      = 1 << 10 // what the pool makes itself
	ample      = 4 << 10 // room in a buffer that any bytes may be kept in
	keepBuffer = 16 << 20
)

// The pools hold what is not in use. Fresh memory of megabytes is expensive: the
// system has to provide and clear each of its pages.
var (
	buffers      = sync.Pool{New: func() any { return &Buffer{B: make([]byte, 0, Least)} }}
	largeBuffers sync.Pool
)

// Take returns an empty buffer, of any capacity.
func Take() *Buffer { return buffers.Get().(*Buffer) }

// TakeFor is Take for an owner that may keep n bytes in the buffer for long: it takes no buffer from the pool that has room for much more.
func TakeFor(n int) *Buffer {
	first := Take()
	if first.Fits(n) {
		return first
	}
	second := Take() // before the first is given back, which would be taken again
	first.Release()
	if second.Fits(n) {
		return second
	}
	second.Release()
	return &Buffer{B: make([]byte, 0, max(n, Least))}
}

// Fits reports whether the buffer may be kept for n bytes for long: it has room for little more.
func (b *Buffer) Fits(n int) bool { return cap(b.B) <= max(2*n, ample) }

// TakeLarge returns an empty buffer with a capacity of at least n. One from the pool has room for four times as much at most: a short message
// that waits for its peer does not keep the memory of a long one.
func TakeLarge(n int) *Buffer {
	if n > Small {
		if b, ok := largeBuffers.Get().(*Buffer); ok {
			if n <= cap(b.B) && cap(b.B) <= 4*n {
				return b
			}
			if n < cap(b.B) {
				b.Release() // one that is too short would be taken in vain again
			}
		}
	}
	return &Buffer{B: make([]byte, 0, n)}
}

// Release gives the buffer back. Nothing may use its memory any more.
func (b *Buffer) Release() {
	switch n := cap(b.B); {
	case n < Least: // too small to be of use to the next taker
	case n <= Small:
		b.B = b.B[:0]
		buffers.Put(b)
	case n <= keepBuffer:
		b.B = b.B[:0]
		largeBuffers.Put(b)
	}
}

// ReleaseSmall is Release for an owner whose buffers grow from small ones and which would not
// take a large one again: one that has grown beyond Small is left to the garbage collector.
func (b *Buffer) ReleaseSmall() {
	if cap(b.B) <= Small {
		b.Release()
	}
}

// Trim returns a buffer with the bytes of b and room for little more: b, or a new one.
func (b *Buffer) Trim() *Buffer {
	if n := len(b.B); cap(b.B) > n+n/8 {
		return b.moved(&Buffer{B: make([]byte, 0, n)}, nil)
	}
	return b
}

// Extend appends p to b and returns the buffer that has both: b, or one of twice
// its capacity, so that long messages are copied about once while they grow.
func (b *Buffer) Extend(p []byte) *Buffer {
	if len(p) <= cap(b.B)-len(b.B) {
		b.B = append(b.B, p...)
		return b
	}
	return b.moved(TakeLarge(max(2*cap(b.B), len(b.B)+len(p))), p)
}

// ExtendWithin is Extend for a buffer that gets longest bytes, and room for them, at most, and whose capacity may grow by spare. Where there is no room to
// double, it grows by an eighth, so that it is copied a few times. It returns b as it is, and false, if there is no room for that either.
func (b *Buffer) ExtendWithin(p []byte, longest, spare int) (_ *Buffer, ok bool) {
	was, need := cap(b.B), len(b.B)+len(p)
	switch {
	case need > longest:
		return b, false
	case need <= was:
		return b.Extend(p), true
	}
	n := min(max(2*was, need), longest)
	if n-was > spare {
		n = min(need+need/8, longest)
	}
	if n-was > spare {
		return b, false
	}
	grown := TakeLarge(n)
	if cap(grown.B) > min(2*n, longest, was+spare) { // it was made for a longer message
		grown.Release()
		grown = &Buffer{B: make([]byte, 0, n)}
	}
	return b.moved(grown, p), true
}

// moved has an empty buffer take the place of b, with p behind what b has.
func (b *Buffer) moved(grown *Buffer, p []byte) *Buffer {
	grown.B = append(append(grown.B, b.B...), p...)
	b.Release()
	return grown
}
