package http2

import (
	"encoding/binary"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2/internal/calm"
	"github.com/weftrpc/weft/internal/session"
)

// assembly is a header block that comes in more than one frame.
type assembly struct {
	stream uint32 // 0: there is none
	end    bool
	pieces int
	bytes  []byte
}

// fields are those of a block that were seen so far, by their kinds.
type fields struct {
	seen      uint32
	regular   bool // a field that is no pseudo-header
	malformed bool
	size      uint32
	length    int64
}

// FieldSize is what a field counts beside its name and its value.
const FieldSize = 32

const pseudoKinds = 1<<hpack.Method | 1<<hpack.Scheme | 1<<hpack.Path | 1<<hpack.Authority | 1<<hpack.Status

// frame handles one frame. The payload is valid until it returns.
func (c *Conn) frame(typ, flags byte, id uint32, p []byte) (stays bool, err error) {
	if c.in.block.stream != 0 && (typ != typeContinuation || id != c.in.block.stream) {
		return true, breach(ProtocolError, "a frame of type %d within a header block", typ)
	}
	if c.in.first && (typ != typeSettings || flags&flagAck != 0) {
		return true, breach(ProtocolError, "the first frame has the type %d, want SETTINGS", typ)
	}
	switch typ {
	case typeData:
		return c.data(flags, id, p)
	case typeHeaders:
		if id == 0 {
			return true, breach(ProtocolError, "HEADERS without a stream")
		}
		if flags&(flagPadded|flagPriority) != 0 {
			if p, err = unpad(typ, flags, id, p); err != nil {
				return true, err
			}
		}
		if flags&flagEndHeaders == 0 {
			c.in.block.stream, c.in.block.end, c.in.block.pieces = id, flags&flagEndStream != 0, 1
			c.in.block.bytes = append(c.in.block.bytes[:0], p...)
			return true, nil
		}
		return c.headers(id, flags&flagEndStream != 0, p)
	case typeContinuation:
		return c.continuation(flags, id, p)
	case typeReset:
		return true, c.reset(id, p)
	case typeWindow:
		return true, c.windowIn(id, p)
	case typePush:
		return true, breach(ProtocolError, "PUSH_PROMISE")
	case typeSettings:
		return true, c.settings(flags, id, p)
	case typePing:
		return true, c.pingIn(flags, id, p)
	case typeGoAway:
		return true, c.goAwayIn(id, p)
	case typePriority:
		if id == 0 {
			return true, breach(ProtocolError, "PRIORITY without a stream")
		}
		if len(p) != 5 {
			return true, priorityError(c, id, FrameSizeError, "PRIORITY of a wrong length")
		}
		if number31(p) == id {
			return true, priorityError(c, id, ProtocolError, "a stream that depends on itself")
		}
	}
	return true, c.in.spend() // other frames are ignored
}

// priorityError is the error of a PRIORITY frame: that of its stream, or of the connection if the stream was not
// opened, since it cannot be reset then.
func priorityError(c *Conn, id uint32, code ErrCode, what string) error {
	c.mu.Lock()
	idle := id > c.opened
	c.mu.Unlock()
	if idle {
		return breach(code, "%s", what)
	}
	return &streamError{id, code, what}
}

// continuation goes on with a header block.
func (c *Conn) continuation(flags byte, id uint32, p []byte) (stays bool, err error) {
	a := &c.in.block
	if a.stream == 0 {
		return true, breach(ProtocolError, "CONTINUATION without a header block")
	}
	if a.pieces++; a.pieces > maxPieces || len(a.bytes)+len(p) > 2*c.cfg.MaxHeader+maxFrame {
		return true, breach(EnhanceYourCalm, "a header block of too many frames or bytes")
	}
	a.bytes = append(a.bytes, p...)
	if flags&flagEndHeaders == 0 {
		return true, nil
	}
	a.stream = 0
	block := a.bytes
	if cap(block) > largeRead {
		a.bytes = nil
	}
	return c.headers(id, a.end, block)
}

// field looks at a field of a block, and passes it on.
func (c *Conn) field(f *hpack.Field) {
	h := &c.in.fields
	if h.size += f.Size; h.size > uint32(c.cfg.MaxHeader) {
		return
	}
	bit := uint32(1) << min(f.Kind, 31)
	switch {
	case bit&pseudoKinds != 0:
		empty := f.Kind == hpack.Path && f.Size <= FieldSize+uint32(len(":path"))
		h.malformed = h.malformed || h.regular || h.seen&bit != 0 || empty
	case f.Kind == hpack.Malformed:
		h.malformed = true
	default:
		h.regular = true
		if f.Kind == hpack.ContentLength {
			if h.length = int64(f.Num); !f.OK {
				h.malformed = true
			}
		}
	}
	h.seen |= bit
	if !h.malformed {
		c.handler.Field(f)
	}
}

// headers handles a whole header block.
func (c *Conn) headers(id uint32, end bool, block []byte) (stays bool, err error) {
	c.in.fields = fields{length: -1}
	c.handler.Field(nil)
	if err := c.in.dec.Decode(block, c.field); err != nil {
		return true, breach(CompressionError, "%v", err)
	}
	h := &c.in.fields
	b := Block{End: end, TooLarge: h.size > uint32(c.cfg.MaxHeader), Status: h.seen&(1<<hpack.Status) != 0}
	c.in.calm.Earn()
	c.mu.Lock()
	if err := c.err; err != nil { // the connection has ended meanwhile
		c.mu.Unlock()
		return true, err
	}
	st := c.open.Get(id)
	if st == nil {
		if c.cfg.Client {
			late := id&1 == 1 && id <= c.opened
			c.mu.Unlock()
			if !late {
				return true, breach(ProtocolError, "HEADERS of stream %d, which was not opened", id)
			}
			return true, c.in.spend()
		}
		return c.openAndUnlock(id, b)
	}
	c.seen = max(c.seen, st.from)
	if st.heard {
		c.mu.Unlock()
		return true, breach(StreamClosed, "HEADERS behind the end of stream %d", id)
	}
	st.heard, c.in.last = end, nil
	if c.cfg.Client && !end {
		c.in.last = st
	}
	if st.length > 0 && end {
		h.malformed = true
	}
	if h.length >= 0 && st.length < 0 && !end {
		st.length = h.length
	}
	malformed := h.malformed || !c.cfg.Client && (!end || h.seen&pseudoKinds != 0)
	if st.heard && st.said && !malformed { // else the stream is reset, and Closed tells of its end
		c.dropLocked(st)
		b.Over = true
	}
	if !c.in.lent {
		b.Open = c.open.Len()
	}
	if end {
		c.gate.Ended(st.Reads && c.open.Len() == 0)
	}
	c.mu.Unlock()
	if malformed {
		return true, &streamError{id, ProtocolError, "malformed HEADERS"}
	}
	return c.handler.Headers(st, b), nil
}

// openAndUnlock opens a stream for the client. It is called with the lock held.
func (c *Conn) openAndUnlock(id uint32, b Block) (stays bool, err error) {
	h := &c.in.fields
	switch {
	case id&1 == 0:
		c.mu.Unlock()
		return true, breach(ProtocolError, "a client opens stream %d, which has an even number", id)
	case id <= c.opened:
		aborted, skipped := c.aborted.Has(id), c.in.recent.Skipped(c.opened, id)
		c.mu.Unlock()
		switch {
		case skipped:
			return true, breach(ProtocolError, "HEADERS of stream %d behind those of a later one", id)
		case !aborted:
			return true, breach(StreamClosed, "HEADERS of stream %d, which has ended", id)
		}
		return true, c.in.spend()
	case id > c.limit:
		c.mu.Unlock()
		return true, nil // a GOAWAY has said that it will not be handled
	}
	c.in.recent.Open(c.opened, id)
	c.opened = id
	c.unreset++
	const need = 1<<hpack.Method | 1<<hpack.Scheme | 1<<hpack.Path
	malformed := h.malformed || !b.TooLarge && h.seen&need != need || b.Status || b.End && h.length > 0
	if malformed || c.open.Len() >= c.cfg.MaxStreams {
		c.aborted.Add(id)
		c.mu.Unlock()
		if malformed {
			return true, &streamError{id, ProtocolError, "malformed HEADERS"}
		}
		return true, &streamError{id, RefusedStream, "too many streams are open"}
	}
	st := c.handler.Open()
	st.id, st.left, st.length, st.heard = id, int64(c.cfg.StreamWindow), h.length, b.End
	c.open.Put(st.id, st)
	c.mu.Unlock()
	return c.handler.Headers(st, b), nil
}

// data handles a DATA frame.
func (c *Conn) data(flags byte, id uint32, p []byte) (stays bool, err error) {
	if id == 0 {
		return true, breach(ProtocolError, "DATA without a stream")
	}
	size, end := len(p), flags&flagEndStream != 0
	if flags&flagPadded != 0 {
		if p, err = unpad(typeData, flags, id, p); err != nil {
			return true, err
		}
	}
	if len(p) > 0 {
		c.in.calm.Earn()
	} else if !end {
		if err := c.in.spend(); err != nil {
			return true, err
		}
	}
	if st := c.in.last; st != nil && st.id == id && !end && size == len(p) && int64(size) <= st.ahead && st.length < 0 && c.taken+int64(size) < connWindow/4 {
		// Most replies: while callers take the lock to send, the goroutine that reads does without.
		st.ahead -= int64(size)
		c.taken += int64(size)
		return c.handler.Data(st, p, false), nil
	}
	c.mu.Lock()
	if c.taken += int64(size); c.taken >= connWindow/4 {
		c.buf = appendWindow(c.buf, 0, uint32(c.taken))
		c.taken = 0
	}
	st := c.open.Get(id)
	if st == nil || st.heard {
		idle := id > c.opened || id&1 == 0
		ignored := id > c.limit || c.cfg.Client || c.aborted.Has(id)
		c.mu.Unlock()
		switch {
		case idle && id <= c.limit:
			return true, breach(ProtocolError, "DATA of stream %d, which was not opened", id)
		case ignored:
			return true, c.in.spend() // it was on its way
		}
		return true, &streamError{id, StreamClosed, "DATA of a stream that has ended"}
	}
	st.left, st.ahead = st.left+st.ahead-int64(size), 0
	if st.left < 0 {
		c.mu.Unlock()
		return true, &streamError{id, FlowControlError, "more DATA than the window allows"}
	}
	if st.length >= 0 {
		if st.length -= int64(len(p)); st.length < 0 || end && st.length > 0 {
			c.mu.Unlock()
			return true, &streamError{id, ProtocolError, "a body of another length than content-length has promised"}
		}
	}
	if pad := size - len(p); pad > 0 && !end {
		c.giveLocked(st, pad)
	}
	if end {
		c.in.last = nil
		if st.heard = true; st.said {
			c.dropLocked(st)
		}
	}
	c.mu.Unlock()
	return c.handler.Data(st, p, end), nil
}

// reset handles an RST_STREAM. Where thousands of calls run out of time together, thousands come at once, for streams that
// this side may have ended just before: that is no attack, and costs no more than the calls.
func (c *Conn) reset(id uint32, p []byte) error {
	if id == 0 {
		return breach(ProtocolError, "RST_STREAM without a stream")
	}
	if len(p) != 4 {
		return breach(FrameSizeError, "RST_STREAM of %d bytes", len(p))
	}
	c.mu.Lock()
	paid := c.unreset > 0 // each stream pays for one
	if paid {
		c.unreset--
	}
	st := c.open.Get(id)
	if st == nil {
		idle := id > c.opened && id <= c.limit || id&1 == 0
		c.mu.Unlock()
		switch {
		case idle:
			return breach(ProtocolError, "RST_STREAM of stream %d, which was not opened", id)
		case paid:
			return nil
		}
		return c.in.spend()
	}
	st.heard, c.in.last = true, nil
	c.dropLocked(st)
	c.mu.Unlock()
	code := ErrCode(binary.BigEndian.Uint32(p))
	c.handler.Closed(st, &Ending{Code: code, Reset: true, Refused: code == RefusedStream})
	return nil
}

// settings handles a SETTINGS frame.
func (c *Conn) settings(flags byte, id uint32, p []byte) error {
	switch {
	case id != 0:
		return breach(ProtocolError, "SETTINGS of a stream")
	case flags&flagAck != 0 && len(p) != 0, len(p)%6 != 0, len(p) > 6*64:
		return breach(FrameSizeError, "SETTINGS of %d bytes", len(p))
	}
	if err := c.in.spend(); err != nil || flags&flagAck != 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in.first {
		c.in.first = false
		c.streams = maxID
		close(c.settled)
	}
	window := c.initial
	for ; len(p) > 0; p = p[6:] {
		if err := c.settingLocked(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	if c.initial > window {
		if err := c.widenLocked(); err != nil {
			return err
		}
	}
	c.buf = appendFrame(c.buf, 0, typeSettings, flagAck, 0)
	c.pumpLocked()
	c.admitLocked()
	return nil
}

func (c *Conn) settingLocked(what uint16, v uint32) error {
	switch what {
	case settingTableSize:
		c.Enc.Limit(v)
	case settingPush:
		if v > 1 || c.cfg.Client && v == 1 {
			return breach(ProtocolError, "ENABLE_PUSH is %d", v)
		}
	case settingMaxStreams:
		c.streams = int64(v)
	case settingWindow:
		if v > maxWin {
			return breach(FlowControlError, "INITIAL_WINDOW_SIZE is %d", v)
		}
		c.initial = int64(v)
	case settingMaxFrame:
		if v < maxFrame || v > 1<<24-1 {
			return breach(ProtocolError, "MAX_FRAME_SIZE is %d", v)
		}
	case settingMaxHeaders:
		c.header = int64(v)
	}
	return nil
}

// pingIn handles a PING.
func (c *Conn) pingIn(flags byte, id uint32, p []byte) error {
	if id != 0 {
		return breach(ProtocolError, "PING of a stream")
	}
	if len(p) != 8 {
		return breach(FrameSizeError, "PING of %d bytes", len(p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if flags&flagAck == 0 && c.measure {
		c.measure = false // it costs no more than the DATA
	} else if err := c.in.spend(); err != nil {
		return err
	}
	if flags&flagAck != 0 {
		c.pongLocked(binary.BigEndian.Uint64(p))
		return nil
	}
	c.buf = append(appendFrame(c.buf, 8, typePing, flagAck, 0), p...)
	return nil
}

// pongLocked handles the answer to a ping.
func (c *Conn) pongLocked(n uint64) {
	c.pinged = 0
	if n == drainPing {
		c.lastGoAwayLocked()
		return
	}
	if ch := c.pings[n]; ch != nil {
		delete(c.pings, n)
		close(ch)
	}
	c.read.Store(session.Nanos())
}

// spend counts a frame that brings no request further.
func (in *incoming) spend() error {
	if !in.calm.Spend() {
		return breach(EnhanceYourCalm, "more than %d frames in a second that belong to no request", calm.Burst)
	}
	return nil
}
