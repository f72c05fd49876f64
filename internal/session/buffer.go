package session

import "sync"

// buffer is a reusable piece of memory. The code that takes one owns it until release.
type buffer struct{ b []byte }

const (
	// smallBuffer is the largest buffer kept among the small ones, and keepBuffer
	// the largest kept at all.
	smallBuffer = 64 << 10
	leastBuffer = 1 << 10 // what the pool makes itself
	keepBuffer  = 16 << 20
)

// The pools hold what is not in use. Fresh memory of megabytes is expensive: the
// system has to provide and clear each of its pages.
var (
	buffers      = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, leastBuffer)} }}
	largeBuffers sync.Pool
)

// takeBuffer returns an empty buffer, of any capacity.
func takeBuffer() *buffer { return buffers.Get().(*buffer) }

// takeLarge returns an empty buffer with a capacity of at least n.
func takeLarge(n int) *buffer {
	if n > smallBuffer {
		if b, ok := largeBuffers.Get().(*buffer); ok && cap(b.b) >= n {
			return b
		}
	}
	return &buffer{b: make([]byte, 0, n)}
}

// release gives the buffer back. Nothing may use its memory any more.
func (b *buffer) release() {
	switch n := cap(b.b); {
	case n < leastBuffer: // too small to be of use to the next taker
	case n <= smallBuffer:
		b.b = b.b[:0]
		buffers.Put(b)
	case n <= keepBuffer:
		b.b = b.b[:0]
		largeBuffers.Put(b)
	}
}

// extend appends p to b and returns the buffer that has both: b, or one of twice
// its capacity, so that long messages are copied about once while they grow.
func (b *buffer) extend(p []byte) *buffer {
	if len(p) <= cap(b.b)-len(b.b) {
		b.b = append(b.b, p...)
		return b
	}
	grown := takeLarge(max(2*cap(b.b), len(b.b)+len(p)))
	grown.b = append(append(grown.b, b.b...), p...)
	b.release()
	return grown
}
