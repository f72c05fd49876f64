package session

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/bindings"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/wire"
)

// message is a body to be sent: either a value that is encoded straight into the writer's buffer, or bytes that were encoded before.
type message struct {
	meta  string // the inside of a metadata block, "" for none
	value any
	sizer codec.Sizer // not nil: value is encoded in place, size bytes
	size  int
	bytes []byte // otherwise: the body
	flags wire.Flags
	buf   *buffer.Buffer // bytes live here, if anywhere
	bind  bindings.Key   // of a request

	of   *Request // the call that it answers, on a worker: it waits for a turn; nil otherwise
	turn bool     // release gives a turn of the backlog back
}

// length is how many bytes the message has on the wire, without headers.
func (m *message) length() int {
	if m.meta == "" {
		return m.size
	}
	return 2 + len(m.meta) + m.size
}

// prepare readies v for sending outside of any lock: only values of a known,
// small size from codecs that never block are left to be encoded later.
func (w *writer) prepare(m *message, c codec.Codec, z codec.Sizer, v any, comp compress.Compressor) *wire.Status {
	about, n, ok := int64(0), 0, false
	if z != nil {
		n, ok = z.Size(v)
	}
	if z != nil && (comp == nil || w.limits.CompressAbove > wire.MaxPayload) {
		about = int64(n)
		if ok && n > int(w.peer.takes().MaxMessage) && w.peer.met() {
			return w.peer.tooLong(n)
		}
		if ok && n+len(m.meta)+2 <= wire.MaxPayload {
			m.value, m.sizer, m.size = v, z, n
			if m.of != nil {
				m.of.Ctx.Method.repliedFew()
			}
			return nil
		}
	}
	if st := m.takeTurn(w.backlog, about); st != nil {
		return st
	}
	if ok && n > buffer.Small {
		m.buf = buffer.TakeLarge(n)
	} else {
		m.buf = buffer.Take()
	}
	b, err := appendBody(c, m.buf.B[:0], v)
	if err != nil {
		m.release()
		return encodeStatus(c, v, err)
	}
	m.buf.B = b
	return w.prepared(m, b, comp)
}

// prepared readies a body that is encoded already. It is not kept, unless the message owns it.
func (w *writer) prepared(m *message, b []byte, comp compress.Compressor) *wire.Status {
	if len(b) > int(w.peer.takes().MaxMessage) && w.peer.met() {
		m.release()
		return w.peer.tooLong(len(b))
	}
	m.bytes, m.size = b, len(b)
	switch {
	case m.of == nil:
	case m.buf != nil || len(b) > wire.MaxPayload:
		m.of.Ctx.Method.replied(len(b))
	default:
		m.of.Ctx.Method.repliedFew()
	}
	if len(b) > wire.MaxPayload {
		if st := m.takeTurn(w.backlog, int64(len(b))); st != nil {
			return st
		}
	}
	if comp != nil && len(b) >= w.limits.CompressAbove {
		if st := w.compress(m, b, comp); st != nil {
			return st
		}
	}
	if m.size > wire.MaxPayload {
		m.own() // here, to copy little under the writer's lock
	}
	return nil
}

// own makes the message own its bytes, which may be borrowed so far.
func (m *message) own() {
	if m.buf == nil {
		m.buf = buffer.TakeLarge(len(m.bytes))
		m.buf.B = append(m.buf.B, m.bytes...)
		m.bytes = m.buf.B
	}
}

// compress replaces the body by a compressed one, where the peer can undo it and it is shorter.
func (w *writer) compress(m *message, b []byte, comp compress.Compressor) *wire.Status {
	index := -1
	for i, name := range w.peer.takes().Compressors {
		if name == comp.Name() && i < wire.MaxNames {
			index = i
		}
	}
	if index < 0 {
		return nil
	}
	small := buffer.Take()
	out, err := squeeze(comp, append(small.B[:0], byte(index)), b)
	if err != nil {
		small.Release()
		m.release()
		return &wire.Status{Code: wire.Internal, Outcome: wire.NotSent, Message: "compress with " + comp.Name() + ": " + err.Error()}
	}
	small.B = out
	if len(out) >= len(b) {
		small.Release()
		return nil
	}
	m.releaseBody()
	m.buf, m.bytes, m.size = small, out, len(out)
	m.flags |= wire.FlagCompressed
	return nil
}

//go:noinline
func sizedStatus(v any, err error, got, want int) *wire.Status {
	if err == nil {
		err = fmt.Errorf("it has %d bytes instead of the %d it was to have; it may have been changed meanwhile", got, want)
	}
	return encodeStatus(nil, v, err)
}

func appendMeta(dst []byte, pairs string) []byte {
	if pairs == "" {
		return dst
	}
	dst = append(dst, byte(len(pairs)), byte(len(pairs)>>8))
	return append(dst, pairs...)
}

// appendBody and appendSized turn a panic of a codec, or of the user's code in it, into an error.
func appendBody(c codec.Codec, dst []byte, v any) (b []byte, err error) {
	defer recovered(&err)
	return c.Append(dst, v)
}

func appendSized(z codec.Sizer, dst []byte, v any, n int) (b []byte, err error) {
	defer recovered(&err)
	return z.AppendSized(dst, v, n)
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// Decode decodes body into v. A panic of the codec becomes an error.
func Decode(c codec.Codec, body []byte, v any) (err error) {
	defer recovered(&err)
	return c.Decode(body, v)
}

func encodeStatus(c codec.Codec, v any, err error) *wire.Status {
	name := ""
	if c != nil {
		name = " with codec " + c.Name()
	}
	return &wire.Status{
		Code: wire.Internal, Outcome: wire.NotSent, Reason: wire.ReasonEncode,
		Message: fmt.Sprintf("encode %T%s: %v", v, name, err),
	}
}

// takeTurn waits until one more reply may be encoded and wait for room in the writer's buffer. The reader does not wait. about is how long
// the reply is, 0 if that is not known. A status says why the reply must not be kept.
func (m *message) takeTurn(b *backlog.Backlog, about int64) *wire.Status {
	if m.of == nil || m.turn {
		return nil
	}
	switch b.Take(about, m.of) {
	case backlog.Gone:
		return callOver(m.of.Ctx)
	case backlog.Dropped:
		return tooMuchToRead()
	}
	m.turn = true
	return nil
}

// callOver is the status of a call that has ended while its reply waited.
func callOver(c *Context) *wire.Status {
	st := &wire.Status{Code: wire.Canceled, Outcome: wire.Executed, Message: "the call ended while its reply waited for the peer to read the replies before it"}
	if c.state.Load() == expired {
		st.Code = wire.DeadlineExceeded
	}
	return st
}

// tooMuchToRead is the status of a call whose reply was dropped.
func tooMuchToRead() *wire.Status {
	return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Executed, Reason: wire.ReasonSlowReader,
		Message: "the reply was dropped: the peer does not read the replies before it, and too many bytes of them wait; read faster, or have fewer calls open at a time"}
}

// release gives back what the message holds.
func (m *message) release() {
	if m.turn {
		m.of.Ctx.Session.in.backlog.Give()
		m.turn = false
	}
	m.releaseBody()
}

func (m *message) releaseBody() {
	if m.buf != nil {
		m.buf.Release()
		m.buf = nil
	}
}

// decompress undoes the compression of a body that came in, to at most limit bytes.
func (cfg *Config) decompress(body []byte, limit int) ([]byte, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("compressed body without the number of its compressor")
	}
	index := int(body[0])
	if index >= len(cfg.Compressors) {
		return nil, fmt.Errorf("body is compressed with number %d, this side offered %d", index, len(cfg.Compressors))
	}
	c := cfg.Compressors[index]
	body = body[1:]
	b, err := unsqueeze(c, body, limit)
	if err != nil {
		return nil, fmt.Errorf("decompress with %s: %w", c.Name(), err)
	}
	return b, nil
}

// inTurn runs f, which restores or decodes a large message of the call of ctx, in its turn, if this side answers the call.
func (cfg *Config) inTurn(ctx context.Context, f func() error) error {
	if c, ok := ctx.(*Context); ok && cfg.InTurn != nil {
		return cfg.InTurn(c, f)
	}
	return f()
}

// squeeze and unsqueeze turn a panic of a compressor into an error.
func squeeze(c compress.Compressor, dst, src []byte) (b []byte, err error) {
	defer recovered(&err)
	return c.Compress(dst, src)
}

func unsqueeze(c compress.Compressor, src []byte, limit int) (b []byte, err error) {
	defer recovered(&err)
	return c.Decompress(nil, src, limit)
}
