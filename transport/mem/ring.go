package mem

// ring is a queue of bytes, of at most limit.
type ring struct {
	buf   []byte
	head  int // index of the oldest byte
	size  int // bytes held
	limit int
}

// put appends as much of b as there is room for and returns how much that was.
func (r *ring) put(b []byte) int {
	b = b[:min(len(b), r.limit-r.size)]
	if r.size+len(b) > len(r.buf) {
		r.grow(r.size + len(b))
	}
	if len(b) > 0 {
		tail := (r.head + r.size) % len(r.buf)
		n := copy(r.buf[tail:], b)
		copy(r.buf, b[n:])
		r.size += len(b)
	}
	return len(b)
}

// take removes the len(b) oldest bytes into b. The ring holds that many.
func (r *ring) take(b []byte) {
	n := copy(b, r.buf[r.head:])
	copy(b[n:], r.buf)
	r.size -= len(b)
	r.head = (r.head + len(b)) % len(r.buf)
	if r.size == 0 {
		r.head = 0 // the next bytes lie in one piece
	}
}

// grow makes room for need bytes in all.
func (r *ring) grow(need int) {
	size := max(2*len(r.buf), firstRing)
	for size < need {
		size *= 2
	}
	buf := make([]byte, min(size, r.limit))
	held := r.size
	if held > 0 {
		r.take(buf[:held])
	}
	*r = ring{buf: buf, size: held, limit: r.limit}
}
