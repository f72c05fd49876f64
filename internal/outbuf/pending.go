package outbuf

import (
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/wire"
)

// pending holds the frames and the large messages that wait to be written, and knows their place in the stream of bytes.
// The lock of the Writer guards it.
type pending struct {
	buf   []byte // frames to be written
	spare []byte // the other one of the two buffers
	out   int    // its room while it is being written
	taken uint64 // bytes handed to the connection since it began
	read  uint64 // how many bytes the peer has read, at least
	limit int    // bytes in buf before goroutines wait for room
	sum   bool   // checksums behind frames
	// Large are the large messages on their way. A message that is added begins to leave with the next flush.
	Large bulk.Queue
}

const (
	// keepSpare is the largest buffer kept for the next batch, and keepIdle the
	// largest one kept when there is nothing to write.
	keepSpare = 4 << 20
	keepIdle  = 16 << 10
	// MaxBulk is how many bytes of large messages may wait before goroutines wait for room.
	MaxBulk = 32 << 20
)

// ChecksumLocked sets whether the frames that follow have checksums.
func (b *pending) ChecksumLocked(sum bool) { b.sum = sum }

// BeginWith makes the bytes that a session begins with the first to be written. It takes
// the memory over.
func (b *pending) BeginWith(first []byte) { b.buf = first }

// StartLocked returns memory for a frame: the buffer, with room for a header behind the
// frames in it. Its caller appends the payload and hands it to FinishLocked, or drops it; then nothing
// was appended. No other frame may be appended in between.
func (b *pending) StartLocked() []byte {
	var header [wire.HeaderSize]byte
	return append(b.buf, header[:]...)
}

// FinishLocked appends a frame for which there was memory from StartLocked.
func (b *pending) FinishLocked(frame []byte, h wire.Header) {
	at := len(b.buf)
	h.Length = uint32(len(frame) - at - wire.HeaderSize)
	wire.PutHeader(frame[at:], h)
	if b.sum {
		frame = wire.AppendChecksum(frame, at)
	}
	b.buf = frame
}

// FrameLocked appends a frame with a payload that is there already.
func (b *pending) FrameLocked(h wire.Header, payload []byte) {
	b.FinishLocked(append(b.StartLocked(), payload...), h)
}

// BeginLargeLocked appends the first frame of a large request that was just added, so that no later
// request begins before it. Its Head.Code is set already.
func (b *pending) BeginLargeLocked(id uint32) { b.buf = b.Large.Begin(b.buf, id, b.sum) }

// PendingLocked is how many bytes wait to be written, without those of large messages.
func (b *pending) PendingLocked() int { return len(b.buf) }

// waitsLocked is how many bytes wait to be written, but for the rest of a write that was interrupted.
func (b *pending) waitsLocked() int { return len(b.buf) + b.Large.Size() }

// memoryLocked is how many bytes of memory the buffers take, and the large messages.
func (b *pending) memoryLocked() int { return cap(b.buf) + cap(b.spare) + b.out + b.Large.Memory() }

// FullLocked reports whether a goroutine that can wait should wait before it appends more.
func (b *pending) FullLocked() bool { return len(b.buf) >= b.limit || b.Large.Size() >= MaxBulk }

// PositionLocked is the place in the stream of bytes where the next frame will begin.
func (b *pending) PositionLocked() uint64 { return b.taken + uint64(len(b.buf)) }

// TakenLocked is how many bytes were handed to the connection since it began.
func (b *pending) TakenLocked() uint64 { return b.taken }

// PeerReadLocked notes that the peer has read the first bytes of the stream, at least so many.
func (b *pending) PeerReadLocked(bytes uint64) { b.read = max(b.read, bytes) }

// swapLocked takes what is in the buffer, to be written.
func (b *pending) swapLocked() []byte {
	batch := b.buf
	b.buf, b.spare = b.spare[:0], nil
	b.taken += uint64(len(batch))
	b.out = cap(batch)
	return batch
}

// keepLocked keeps the memory of a batch that was written, unless it is too large.
func (b *pending) keepLocked(batch []byte) {
	b.out = 0
	if cap(batch) <= keepSpare {
		b.spare = batch[:0]
	}
}

// trimLocked frees large buffers when there is nothing in them.
func (b *pending) trimLocked() {
	if len(b.buf) > 0 {
		return
	}
	if cap(b.buf) > keepIdle {
		b.buf = nil
	}
	if cap(b.spare) > keepIdle {
		b.spare = nil
	}
}
