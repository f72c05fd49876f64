// Package inbuf is what a connection is read into: one buffer that is small while little comes, larger while much does, and
// borrowed while large messages come. What was read is used in place.
package inbuf

import "sync"

const (
	// SmallRead and LargeRead are the sizes of a buffer: a connection with
	// little traffic holds the small one.
	SmallRead = 4 << 10
	LargeRead = 64 << 10
	// BulkRead is the size of a buffer that is borrowed while large messages come in.
	BulkRead = 256 << 10
	// quietReads is how many reads that would have fitted the small buffer make a
	// large one be given back.
	quietReads = 512
)

// Buffer is that of one reader. New makes it.
type Buffer struct {
	mem   []byte
	r, w  int // the unread part of mem
	quiet int
	own   []byte // the buffer's own memory, while mem is borrowed
}

// New returns a buffer that begins with mem[r:w]. It takes the memory over; too little is replaced.
func New(mem []byte, r, w int) Buffer {
	if len(mem) < SmallRead {
		b := TakeSmall()
		w, r = copy(b, mem[r:w]), 0
		mem = b
	}
	return Buffer{mem: mem, r: r, w: w}
}

// smallReads holds memory of SmallRead bytes of connections that have ended.
var smallReads = sync.Pool{New: func() any { return new([SmallRead]byte) }}

// TakeSmall returns SmallRead bytes of memory for New.
func TakeSmall() []byte { return smallReads.Get().(*[SmallRead]byte)[:] }

// GiveSmall gives memory back that may be that of TakeSmall.
func GiveSmall(mem []byte) {
	if len(mem) == SmallRead {
		smallReads.Put((*[SmallRead]byte)(mem))
	}
}

// Room returns the memory for the next read, which is not empty. The beginning of a frame that has not come whole moves to the
// front, and the frame must fit.
func (b *Buffer) Room() []byte {
	if b.r > 0 {
		b.w = copy(b.mem, b.mem[b.r:b.w])
		b.r = 0
	}
	if b.w == len(b.mem) {
		b.move(make([]byte, 2*len(b.mem)))
	}
	return b.mem[b.w:]
}

// Came says that n bytes were read into Room.
func (b *Buffer) Came(n int) { b.w += n }

// Unread is what has come and was not skipped.
func (b *Buffer) Unread() []byte { return b.mem[b.r:b.w] }

// Skip skips n bytes of Unread. They stay as they are until Fit or Room.
func (b *Buffer) Skip(n int) { b.r += n }

// Fit gives the buffer a size that fits the traffic. filled is how many bytes were unread after the last read; bulk says that a
// large message has not come whole. It returns by how much what Borrowed tells has changed.
func (b *Buffer) Fit(filled int, bulk bool) (change int) {
	switch {
	case b.own != nil:
		if filled > LargeRead {
			b.quiet = 0
		} else {
			b.quiet++
		}
		// A large message whose rest never comes does not keep the memory.
		if (!bulk || b.quiet >= quietReads) && b.w-b.r <= len(b.own) {
			b.giveBack()
			return -BulkRead
		}
	case bulk && filled == len(b.mem) && len(b.mem) >= LargeRead:
		b.borrow()
		return BulkRead
	case filled == len(b.mem) && len(b.mem) < LargeRead:
		b.move(make([]byte, LargeRead))
	case filled > SmallRead/2 || len(b.mem) <= SmallRead:
		b.quiet = 0
	default:
		if b.quiet++; b.quiet >= quietReads && b.w-b.r <= SmallRead/2 {
			b.move(make([]byte, SmallRead))
		}
	}
	return 0
}

// Borrowed is how many bytes the buffer has borrowed, beside its own memory.
func (b *Buffer) Borrowed() int {
	if b.own == nil {
		return 0
	}
	return BulkRead
}

// bulkReads holds memory of BulkRead bytes that is not borrowed.
var bulkReads = sync.Pool{New: func() any { return new([BulkRead]byte) }}

// borrow goes on in BulkRead bytes, for the reader to be woken less often.
func (b *Buffer) borrow() {
	b.own = b.mem
	b.move(bulkReads.Get().(*[BulkRead]byte)[:])
}

// giveBack goes on in the buffer's own memory.
func (b *Buffer) giveBack() {
	borrowed := (*[BulkRead]byte)(b.mem)
	b.move(b.own)
	b.own = nil
	bulkReads.Put(borrowed)
}

// move goes on in mem with what is unread.
func (b *Buffer) move(mem []byte) {
	b.w = copy(mem, b.mem[b.r:b.w])
	b.mem, b.r, b.quiet = mem, 0, 0
}

// Release gives the memory back. Nothing may use it, or the buffer, any more.
func (b *Buffer) Release() {
	if b.own != nil {
		bulkReads.Put((*[BulkRead]byte)(b.mem))
		b.mem = b.own
	}
	GiveSmall(b.mem)
	*b = Buffer{}
}
