package rpcx

import (
	"context"
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
	"github.com/weftrpc/weft/internal/buffer"
)

// call is one call that a client makes.
type call struct {
	weft.DoorCall
	s       *serverConn
	route   *route
	method  *weft.DoorMethod
	names   []byte // for the reply
	payload []byte // of the request
	codec   *serial

	compressor  compress.Compressor // of both payloads; nil: none
	compression byte                // its number

	seq     uint64
	serial  byte
	oneway  bool
	batch   bool // the goroutine that runs it writes later
	counted bool // as an open call
	size    int  // of the reply
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.method.Stalled() }

// Alone implements jobs.Call.
func (x *call) Alone() { x.batch = false }

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error {
	b := x.payload
	if x.compressor != nil {
		var err error
		if b, err = restored(x.Restoring(x.compressor), b, x.s.limits.MaxMessage, "the server"); err != nil {
			return err
		}
	}
	x.payload = nil
	return x.DecodeBody(x.codec.codec, b, v)
}

// small is the largest reply that is encoded where it is sent from, in bytes.
const small = 8 << 10

// Reply implements weft.Inbound.
func (x *call) Reply(v any, m weft.Metadata) error {
	s := x.s
	if x.oneway {
		x.answered()
		return nil
	}
	size := 0
	if z := x.codec.sizer; z != nil {
		n, ok := z.Size(v)
		if size = n; ok && n <= small && n <= s.limits.MaxMessage && x.compressor == nil {
			s.out.Lock()
			if !s.out.FullLocked() {
				err := x.replyHereAndUnlock(v, n, m)
				x.Encoded(n)
				return err
			}
			s.out.Unlock()
		}
	}
	if _, err := x.AwaitTurn(size, nil); err != nil {
		return err
	}
	defer s.Replies().GiveTurn()
	if s.out.LockWithRoom(context.Background()) != nil { // nothing can be sent
		x.answered()
		return nil
	}
	s.out.Unlock()
	buf := buffer.Take()
	defer buf.ReleaseSmall()
	b, err := x.codec.codec.Append(buf.B, v)
	if err != nil {
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	buf.B = b
	if len(b) > s.limits.MaxMessage {
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(b), s.limits.MaxMessage).
			WithReason(weft.ReasonMessageTooLarge)
	}
	x.Encoded(len(b))
	flags := byte(frame.Response)
	if x.compressor != nil && len(b) > compressAbove {
		if z, err := x.compressor.Compress(nil, b); err == nil && len(z) < len(b) {
			b = z
			flags |= x.compression << frame.CompressionShift
		}
	}
	// Others were encoded meanwhile: so no more than one beyond the room waits to be written.
	n := len(b)
	s.Hold(n)
	if s.out.LockWithRoom(context.Background()) != nil {
		s.Hold(-n)
		x.answered()
		return nil
	}
	out, at := x.beginLocked(flags, m)
	out, length := frame.Open(out)
	out = append(out, b...)
	frame.Close(out, length)
	frame.End(out, at)
	s.out.SetBufferLocked(out)
	s.Hold(-n) // it counts with what waits to be written
	x.size = n
	x.sentAndUnlock()
	return nil
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) { return 0, x.size }

// beginLocked begins a reply with its metadata.
func (x *call) beginLocked(flags byte, m weft.Metadata) (b []byte, at int) {
	b, at = frame.Begin(x.s.out.BufferLocked(), flags, x.serial, x.seq, x.names)
	if x.names == nil {
		b = append(b, noNames...)
	}
	b, length := frame.Open(b)
	if m.Len() > 0 {
		b = appendMetadata(b, m, true)
		frame.Close(b, length)
	}
	return b, at
}

// noNames are an empty path and an empty method.
const noNames = "\x00\x00\x00\x00\x00\x00\x00\x00"

// replyHereAndUnlock encodes a small reply where it is sent from.
func (x *call) replyHereAndUnlock(v any, n int, m weft.Metadata) error {
	o := x.s.out
	if o.EndedLocked() {
		x.sentAndUnlock()
		return nil
	}
	was := len(o.BufferLocked())
	b, at := x.beginLocked(frame.Response, m)
	b, length := frame.Open(b)
	out, err := appendSized(x.codec, b, v, n)
	if err != nil {
		o.SetBufferLocked(o.BufferLocked()[:was])
		o.Unlock()
		return err
	}
	frame.Close(out, length)
	frame.End(out, at)
	o.SetBufferLocked(out)
	x.size = n
	x.sentAndUnlock()
	return nil
}

// appendSized encodes v; a panic of the codec is an error, since the lock is held.
func appendSized(c *serial, b []byte, v any, n int) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = weft.Errorf(weft.Internal, "encode with codec %s: %v", c.name, p).WithReason(weft.ReasonEncode)
		}
	}()
	if out, err = c.sizer.AppendSized(b, v, n); err != nil {
		return nil, weft.Errorf(weft.Internal, "encode with codec %s: %w", c.name, err).WithReason(weft.ReasonEncode)
	}
	return out, nil
}

// sentAndUnlock has what was appended written. A goroutine that runs several calls does that
// behind the last one.
func (x *call) sentAndUnlock() {
	if x.batch {
		x.s.out.Unlock()
	} else {
		x.s.out.FlushAndUnlock(x.s.open.Count() > 1)
	}
	x.answered()
}

// answered notes that the call is no longer open.
func (x *call) answered() {
	if !x.counted {
		return
	}
	x.counted = false
	if x.oneway {
		x.s.oneway.Leave()
	}
	x.s.open.Leave()
}

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, m weft.Metadata) {
	if x.oneway {
		x.answered()
		return
	}
	text := x.textFor(e)
	o := x.s.out
	o.Lock()
	if !o.EndedLocked() {
		b, at := frame.Begin(o.BufferLocked(), frame.Response|frame.Failed, x.serial, x.seq, x.names)
		if x.names == nil {
			b = append(b, noNames...)
		}
		b, length := frame.Open(b)
		b = appendError(appendMetadata(b, m, true), e, text)
		frame.Close(b, length)
		b = frame.AppendPart(b, "")
		frame.End(b, at)
		o.SetBufferLocked(b)
	}
	x.sentAndUnlock()
}

// refused answers a call that does not begin.
func (x *call) refused(e *weft.Error) { x.Fail(e, weft.Metadata{}) }

// Stream is never called: no Head of this door opens a stream.
func (x *call) Stream(context.Context) weft.RawStream { return nil }

func isWeft(err error) bool {
	_, ok := errors.AsType[*weft.Error](err)
	return ok
}

// restored undoes the compression of a payload.
func restored(z compress.Compressor, b []byte, limit int, whose string) ([]byte, error) {
	out, err := z.Decompress(nil, b, limit)
	switch {
	case err == nil:
		return out, nil
	case isWeft(err): // there is no room
		return nil, err
	case errors.Is(err, compress.ErrTooLarge):
		return nil, weft.Errorf(weft.ResourceExhausted, "the payload has more than %d bytes when it is decompressed, which Limits.MaxMessage of %s allows", limit, whose).
			WithReason(weft.ReasonMessageTooLarge)
	}
	return nil, weft.Errorf(weft.InvalidArgument, "decompress with %s: %w", z.Name(), err).WithReason(weft.ReasonDecompress)
}
