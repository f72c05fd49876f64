package session

import "sync"

// buffer is a reusable piece of memory. Whoever takes one owns it until release.
type buffer struct{ b []byte }

// keepBuffer is the largest buffer that is kept for reuse.
const keepBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 1<<10)} }}

func takeBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) release() {
	if cap(b.b) > keepBuffer {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
}
