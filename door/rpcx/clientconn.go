package rpcx

import (
	"bytes"
	"context"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/internal/session"
)

// clientConn is one connection of the wire.
type clientConn struct {
	*pending.Calls[answer]
	w        *wire
	cfg      weft.WireConfig
	cred     string        // the credential of the connection; "": it has none
	deflater *deflater     // of requests; nil: none is compressed
	messages chan *Message // without a call; nil: they are dropped

	open    atomic.Int64 // calls that wait for a reply
	seen    atomic.Int64 // when something was read last, on the clock of session.Nanos
	told    atomic.Bool  // the server knows that this is a client of weft
	oneways atomic.Bool  // there was a one-way call
	dropped atomic.Int64 // messages
	waiting atomic.Int64 // bytes of those that wait for OnMessage
}

var (
	_ weft.WireConn    = (*clientConn)(nil)
	_ weft.WirePinger  = (*clientConn)(nil)
	_ weft.WireDrainer = (*clientConn)(nil)
)

// answer is what ends a call: a frame whose bytes are its own.
type answer struct{ frame.Frame }

// Check implements weft.WireChecker.
func (c *clientConn) Check(with codec.Codec, msg any) error { return fit.Carries(asRpcx(with), msg) }

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	r, err := encodeRequest(w, c.w.names[:], c.cfg.Limits.MaxMessage, "client", c.deflater)
	if err != nil {
		return err
	}
	w.Sent = len(r.payload)
	first := !c.told.Load()
	var lead []byte
	switch {
	case c.cred == "":
	case w.Metadata.Get(authorization) == "":
		r.cred = c.cred // the wire has no place for that of a connection
	case first: // a weft server admits the connection by the credential of its first frame
		lead = heartbeat(noCall, c.cred)
	}
	if w.Oneway {
		c.oneways.Store(true)
	} else {
		c.open.Add(1)
		defer c.open.Add(-1)
	}
	var number uint64
	a, err := c.Do(ctx, w.Oneway, func(seq uint64) ([][]byte, error) {
		number = seq
		room := frame.HeaderSize + 256 + len(w.Method) + len(r.payload)
		request := r.append(make([]byte, 0, room), seq, left(ctx), first)
		if lead != nil {
			return [][]byte{lead, request}, nil
		}
		return [][]byte{request}, nil
	})
	if err != nil {
		return err
	}
	if first { // until then all calls say it
		c.told.Store(true)
	}
	if w.Oneway {
		c.Answer(number, answer{}) // no reply comes
		return nil
	}
	return c.result(&a.Frame, w)
}

// left is how many milliseconds a call has; 0: it has no end.
func left(ctx context.Context) int64 {
	due, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(1, time.Until(due).Milliseconds())
}

// result makes a result of a response.
func (c *clientConn) result(f *frame.Frame, w *weft.WireCall) error {
	ran := func(e *weft.Error) error {
		if !f.Failed() { // what has failed may not have been run
			e.Outcome = weft.Executed
		}
		return e
	}
	if f.TooLong != 0 {
		return ran(weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the client allows %d", f.TooLong, c.cfg.Limits.MaxMessage).
			WithReason(weft.ReasonMessageTooLarge))
	}
	var t told
	if err := t.read(f.Meta, &w.ReplyMetadata); err != nil {
		return ran(weft.Errorf(weft.Internal, "decode the reply's metadata: %w", err).WithReason(weft.ReasonDecode))
	}
	if f.Failed() {
		return t.result()
	}
	if w.Received = len(f.Payload); w.Reply == nil {
		return nil
	}
	body, err := c.restored(f.Compression(), f.Payload)
	if err == nil && len(body) > c.cfg.Limits.MaxMessage {
		err = weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the client allows %d", len(body), c.cfg.Limits.MaxMessage).
			WithReason(weft.ReasonMessageTooLarge)
	}
	if err != nil {
		e := weft.Errorf(weft.CodeOf(err), "%w", err)
		if known, ok := err.(*weft.Error); ok {
			*e = *known
		}
		return ran(e)
	}
	z, err := c.codec(f.Serial, w.Codec)
	if err == nil {
		err = z.Decode(body, w.Reply)
	}
	if err != nil {
		return ran(weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode))
	}
	return nil
}

// read reads the metadata of a response: what it says of an error, and what the handler has set.
func (t *told) read(meta []byte, m *weft.Metadata) error {
	var pairs []string
	for len(meta) > 0 {
		key, value, rest, err := frame.Pair(meta)
		if err != nil {
			return err
		}
		meta = rest
		switch {
		case t.take(key, value):
		case bytes.HasPrefix(key, []byte(ownPrefix)), len(key) == 0, len(key) > 255, len(pairs) == 2*maxPairs:
		default:
			pairs = append(pairs, string(key), string(value))
		}
	}
	*m = (weft.Metadata{}).With(pairs...)
	return nil
}

// Ping implements weft.WirePinger: it waits for the answer to a heartbeat.
func (c *clientConn) Ping(ctx context.Context) error {
	_, err := c.Do(ctx, false, func(seq uint64) ([][]byte, error) { return [][]byte{heartbeat(seq, c.cred)}, nil })
	return err
}

// drainWithin is how long Drain waits for a server to read what was sent.
const drainWithin = 3 * time.Second

// Drain implements weft.WireDrainer: a heartbeat that is answered says that the server has read
// the one-way calls before it.
func (c *clientConn) Drain(done <-chan struct{}) {
	if !c.oneways.Load() || c.w.cfg.NoHeartbeat {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	answered := make(chan struct{})
	// It ends with ctx.
	go func() {
		defer close(answered)
		_ = c.Ping(ctx) // an error is that of the connection, which ends now in any case
	}()
	select {
	case <-answered:
	case <-done:
		cancel()
		<-answered
	}
}

func (c *clientConn) saw() { c.seen.Store(session.Nanos()) }

func (c *clientConn) silence() time.Duration { return time.Duration(session.Nanos() - c.seen.Load()) }

// read takes frames off the connection until it ends.
func (c *clientConn) read() {
	if c.messages != nil {
		defer close(c.messages)
	}
	l := &c.cfg.Limits
	r := frame.NewReader(c.Conn(), l.MaxMessage+l.MaxMetadata+namesRoom, func(bool) { c.saw() })
	for {
		f, err := r.Next()
		if err != nil {
			c.Lost(err)
			return
		}
		switch {
		case f.Has(frame.Response):
			c.Answer(f.Seq, answer{kept(f)})
		case f.Has(frame.Oneway) && !f.Has(frame.Heartbeat) && f.TooLong == 0:
			c.message(kept(f))
		}
	}
}

// kept is a frame whose bytes stay when the next one is read.
func kept(f frame.Frame) frame.Frame {
	if f.Owned || f.TooLong != 0 {
		return f
	}
	own := make([]byte, 0, len(f.Names)+len(f.Meta)+len(f.Payload))
	if !f.Has(frame.Response) {
		own = append(append(own, f.Path...), f.Method...)
		f.Path, f.Method = own[:len(f.Path):len(f.Path)], own[len(f.Path):]
	}
	at := len(own)
	own = append(append(own, f.Meta...), f.Payload...)
	f.Meta, f.Payload = own[at:at+len(f.Meta)], own[at+len(f.Meta):]
	f.Names = nil
	return f
}

// maxMessages is how many messages of a connection may wait for OnMessage.
const maxMessages = 256

// message has a message delivered.
func (c *clientConn) message(f frame.Frame) {
	if c.messages == nil {
		return
	}
	m := &Message{Method: string(f.Path) + "." + string(f.Method), Payload: f.Payload, conn: c, serial: f.Serial}
	var t told
	body, err := c.restored(f.Compression(), f.Payload)
	if err == nil {
		err = t.read(f.Meta, &m.Metadata)
	}
	if m.Payload = body; err != nil {
		c.drop("it cannot be read: " + err.Error())
		return
	}
	m.size = int64(len(f.Meta) + len(body))
	if c.waiting.Add(m.size) <= 4*int64(c.cfg.Limits.MaxMessage) {
		select {
		case c.messages <- m:
			return
		default:
		}
	}
	c.waiting.Add(-m.size)
	c.drop("too many messages, or too many bytes of them, wait for OnMessage")
}

// drop notes that a message was dropped: the first of each hundred is logged.
func (c *clientConn) drop(why string) {
	if n := c.dropped.Add(1); n%100 == 1 {
		c.cfg.Logger.Warn("rpcx: a message of a server was dropped", "address", c.cfg.Address, "why", strings.ToValidUTF8(why, "?"), "dropped", n)
	}
}

// deliver calls OnMessage.
func (c *clientConn) deliver() {
	for m := range c.messages {
		c.waiting.Add(-m.size)
		c.handle(m)
	}
}

// handle calls OnMessage. A panic of it is logged.
func (c *clientConn) handle(m *Message) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Logger.Error("rpcx: OnMessage panicked", "address", c.cfg.Address, "method", m.Method, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.w.cfg.OnMessage(m)
}
