package carriers

import "sync/atomic"

// StreamBytes counts the bytes of the messages of a stream. It implements weft.WireStreamSizer.
type StreamBytes struct{ sent, received atomic.Int64 }

// Sent counts a message that was sent.
func (b *StreamBytes) Sent(n int) { b.sent.Add(int64(n)) }

// Received counts a message that was received.
func (b *StreamBytes) Received(n int) { b.received.Add(int64(n)) }

// Bytes implements weft.WireStreamSizer.
func (b *StreamBytes) Bytes() (sent, received int) { return int(b.sent.Load()), int(b.received.Load()) }
