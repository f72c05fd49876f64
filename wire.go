package weft

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/transport"
)

// Wire is a foreign protocol that a Client speaks: with it in ClientConfig.Wires, an address such as "netrpc://127.0.0.1:1234" is that of a server of
// this protocol. The transport is TCP unless the scheme names another one behind a plus sign, as in "netrpc+unix:///run/app.sock". Package wiretest
// tests a wire against this contract.
type Wire interface {
	// Scheme is the part of an address before "://" or "+", for example "netrpc".
	Scheme() string
	// Protocols are what a client offers by ALPN when the connection has TLS; nil: none.
	Protocols() []string
	// Dial makes one connection. It ends with ctx.
	Dial(ctx context.Context, cfg WireConfig) (WireConn, error)
}

// WireConfig is what a wire gets for one connection.
type WireConfig struct {
	// Dial makes the connection underneath, TLS included, to the client's address.
	Dial func(ctx context.Context) (net.Conn, error)
	// Address is that of the client, without the scheme and the path.
	Address string
	Path    string // of the address, with the query, if the wire has a method TakesPath() bool that returns true; "": there is none
	// Credential is that of the connection; empty: none.
	Credential Credential
	// Limits are those of the client, with their defaults filled in.
	Limits      Limits
	Logger      *slog.Logger          // that of the client, never nil
	Compressors []compress.Compressor // what replies may be compressed with
	Compressor  compress.Compressor   // what compresses requests; nil: none does
}

// WireConn is one connection of a wire. All methods may be called concurrently. It may
// be a WireStreamer, a WirePinger, a WireChecker and a WireDrainer as well.
type WireConn interface {
	// Conn is the connection underneath, for its addresses and the state of TLS; it must not be read from or written to.
	Conn() net.Conn
	// Call makes a unary call and decodes its reply into call.Reply. It ends with ctx, which has the deadline; the server is told of both if the wire
	// can carry them. Its errors are *Error with the outcome; those of a call that was certainly not sent have NotSent. A one-way call returns when
	// the request has been written. When Call has returned nil the memory of call is used for later calls: nothing refers to it any more.
	Call(ctx context.Context, call *WireCall) error
	// Done is closed when no more calls can be opened: the connection is lost, or the server shuts down. Calls that are open go on if they can.
	Done() <-chan struct{}
	// Err says, after Done, why.
	Err() error
	// Close ends the connection at once. Open calls fail.
	Close() error
}

// WireStreamer is a WireConn of a wire that has streaming calls.
type WireStreamer interface {
	// OpenStream opens a streaming call; call.Args is a message as it will be sent. It
	// does not wait for the server. The stream may be a WireStreamSizer.
	OpenStream(ctx context.Context, call *WireCall) (RawStream, error)
}

// WireStreamSizer is a stream of a WireStreamer that counts the bytes of its messages, for the statistics.
type WireStreamSizer interface {
	// Bytes are those of the messages that were sent and received so far, as WireCall counts those of bodies. It may be called from any goroutine.
	Bytes() (sent, received int)
}

// WirePinger is a WireConn of a wire that has pings.
type WirePinger interface {
	// Ping waits for the server to answer a ping.
	Ping(ctx context.Context) error
}

// WireChecker is a WireConn that can tell by the type of a message alone that it can never carry it, so that
// the error is found before a call is sent and not after its handler has run.
type WireChecker interface {
	// Check returns why a message of the type of msg, a request or a reply of a call with codec c, can never
	// be carried; nil when it can, or when that depends on the value. It is called for each call, unless it has returned nil for calls of the
	// same types before.
	Check(c codec.Codec, msg any) error
}

// WireDrainer is a WireConn of a wire whose server acknowledges one-way calls.
type WireDrainer interface {
	// Drain waits until the server has acknowledged all one-way calls, the connection is lost or
	// done is closed. Client.Shutdown calls it before Close, when no call is under way.
	Drain(done <-chan struct{})
}

// WireCall is one call as a wire makes it.
type WireCall struct {
	Method   string // "Service.Method"
	Codec    codec.Codec
	Args     any // the request; of a stream a message as it will be sent
	Reply    any // a pointer; nil: the reply is discarded
	Metadata Metadata
	Oneway   bool

	// ReplyMetadata is set by the wire before Call returns.
	ReplyMetadata Metadata

	// Sent and Received are how many bytes the bodies of the request and the reply have on the wire, without
	// what is around them, for the statistics. The wire sets them before Call returns; 0: it does not say.
	Sent, Received int
}

// foreignCall is a unary call, with memory for a context of its own.
type foreignCall struct {
	WireCall
	until due.Context
}

// callForeign makes a unary call on a connection of a foreign wire.
func (c *caller) callForeign(ctx context.Context, p *Peer, x *outgoing, args any) error {
	call := new(foreignCall)
	if err := c.foreign(ctx, p, x, args, &call.WireCall); err != nil {
		return err
	}
	if !p.flights.Enter() {
		return notSent(lost(p.w.Err(), x.info.Method, p), x.info.Method)
	}
	defer p.flights.Leave()
	if at := x.o.until(ctx); at != 0 && (!x.o.own || !due.Same(ctx, x.o.ctx) || due.Endless(ctx)) {
		call.until.Begin(ctx, time.Duration(at-session.Nanos()))
		ctx = &call.until
		defer call.until.End()
	}
	info := &x.info
	if c.hooks.any {
		info = x.info.on(p, call.Codec)
		if err := c.beforeRequest(ctx, info, args); err != nil {
			return err
		}
	}
	err := c.pass(ctx, p, &call.WireCall)
	if x.o.reply != nil {
		*x.o.reply = call.ReplyMetadata
	}
	for _, f := range c.hooks.afterRequest {
		f.AfterWriteRequest(ctx, info, args, err)
	}
	if !call.Oneway {
		for _, f := range c.hooks.afterHeader {
			f.AfterReadReplyHeader(ctx, info, err)
		}
		if err == nil {
			for _, f := range c.hooks.afterBody {
				f.AfterReadReplyBody(ctx, info, nil)
			}
		}
	}
	return err
}

// pass passes a call on to its wire, and counts it.
func (c *caller) pass(ctx context.Context, p *Peer, call *WireCall) error {
	from, err := session.Nanos(), error(nil)
	if ctx.Err() != nil { // interceptors, hooks and credentials take time too
		err = tooLate(ctx, call.Method)
	} else {
		err = p.w.Call(ctx, call)
	}
	m := c.stats.Of(call.Method)
	if sent := (*Error)(nil); err == nil || !asWeft(err, &sent) || sent.Outcome != NotSent {
		m.Bytes(p.number, call.Sent, call.Received)
	}
	m.Ended(p.number, uint16(CodeOf(err)), session.Nanos()-from)
	if err != nil {
		return lost(err, call.Method, p)
	}
	return nil
}

// quickForeign is quick for a foreign wire: the memory of a call that went well is used again. deadline is that of the call where ctx has none.
func (c *caller) quickForeign(ctx context.Context, p *Peer, method string, args, reply any) (deadline int64, err error) {
	_, own := ctx.Deadline()
	if !own && c.timeout > 0 {
		deadline = session.Nanos() + int64(c.timeout)
	}
	with := c.usualCodec(args)
	if err := c.checkForeign(p, method, with, args, reply); err != nil {
		return deadline, notSent(err, method)
	}
	m := outgoingMetadata(ctx)
	if m.wrong != "" {
		return deadline, &Error{Code: InvalidArgument, Outcome: NotSent, Method: method, Message: m.wrong}
	}
	if !p.flights.Enter() {
		return deadline, notSent(lost(p.w.Err(), method, p), method)
	}
	defer p.flights.Leave()
	if deadline != 0 || due.Endless(ctx) {
		at := deadline
		if own {
			at = deadlineOf(ctx)
		}
		until := due.After(ctx, time.Duration(at-session.Nanos()))
		defer until.End()
		ctx = until
	}
	call := c.wired.Take()
	call.Method, call.Codec, call.Args, call.Reply, call.Metadata = method, with, args, reply, m
	if err = c.pass(ctx, p, call); err == nil {
		*call = WireCall{}
		c.wired.Give(call)
	}
	return deadline, err
}

// checkForeign tells what of a call without options a foreign wire can never carry, by its name and the types alone.
func (c *caller) checkForeign(p *Peer, method string, with codec.Codec, args, reply any) error {
	if err := checkName(method, false); err != nil || c.carried.Has(args, reply) {
		return err
	}
	if err := checkWire(p, with, args, reply); err != nil {
		return err
	}
	c.carried.Add(args, reply)
	return nil
}

// openForeign opens a stream on a connection of a foreign wire.
func (c *caller) openForeign(ctx context.Context, p *Peer, x *outgoing) (RawStream, error) {
	call := new(WireCall)
	if err := c.foreign(ctx, p, x, x.sample, call); err != nil {
		return nil, err
	}
	streamer, ok := p.w.(WireStreamer)
	if !ok {
		return nil, &Error{Code: Unimplemented, Outcome: NotSent, Method: call.Method, Peer: p.Addr().String(),
			Message: "the peer speaks " + p.Wire() + ", which has no streams"}
	}
	if !p.flights.Enter() {
		return nil, notSent(lost(p.w.Err(), x.info.Method, p), x.info.Method)
	}
	ctx, cancel := bounded(ctx, x.o.until(ctx))
	stop := sync.OnceFunc(func() {
		cancel()
		p.flights.Leave()
	})
	stream, err := streamer.OpenStream(ctx, call)
	if err != nil {
		stop()
		return nil, lost(err, call.Method, p)
	}
	// A stream whose context has ended need not be received from.
	ended := streamEnded(&c.stats, p, call.Method, func() (sent, came int) {
		if s, ok := stream.(WireStreamSizer); ok {
			return s.Bytes()
		}
		return 0, 0
	})
	unwatch := context.AfterFunc(ctx, func() {
		ended(CodeOf(ctx.Err()))
		stop()
	})
	end := func() {
		unwatch()
		stop()
	}
	return &foreignStream{RawStream: stream, stop: end, ended: ended, call: call, reply: x.o.reply}, nil
}

// foreign readies a call for a foreign wire.
func (c *caller) foreign(ctx context.Context, p *Peer, x *outgoing, sample any, call *WireCall) error {
	method := x.info.Method
	if p.w == nil {
		return &Error{Code: Unimplemented, Outcome: NotSent, Reason: ReasonNoCallback, Method: method, Peer: p.Addr().String(),
			Message: "the peer speaks " + p.Wire() + ", in which a server cannot call its client"}
	}
	if err := checkName(method, false); err != nil {
		return notSent(err, method)
	}
	if x.o.ordered {
		return &Error{Code: Unimplemented, Outcome: NotSent, Method: method, Peer: p.Addr().String(),
			Message: "the peer speaks " + p.Wire() + ", which has no order of one-way calls (WithOrder)"}
	}
	if ctx.Err() != nil {
		return tooLate(ctx, method)
	}
	received := x.info.Reply
	if x.info.Stream {
		received = x.o.received
	}
	with := c.codecFor(&x.o, sample)
	if err := checkWire(p, with, sample, received); err != nil {
		return notSent(err, method)
	}
	m, err := c.metadata(ctx, method, &x.o)
	*call = WireCall{Method: method, Codec: with, Args: sample, Reply: x.info.Reply, Metadata: m, Oneway: x.o.oneway}
	return err
}

// checkWire tells what of a call a foreign wire can never carry, by the types alone.
func checkWire(p *Peer, with codec.Codec, args, reply any) error {
	w, ok := p.w.(WireChecker)
	if !ok {
		return nil
	}
	if err := w.Check(with, args); err != nil {
		return Errorf(InvalidArgument, "wire %s cannot carry a request of type %T: %w", p.Wire(), args, err).WithReason(ReasonEncode)
	}
	if reply == nil {
		return nil
	}
	if err := w.Check(with, reply); err != nil {
		return Errorf(InvalidArgument, "wire %s cannot carry a reply of type %T: %w", p.Wire(), reply, err).WithReason(ReasonDecode)
	}
	return nil
}

// lost completes an error of a foreign wire.
func lost(err error, method string, p *Peer) error {
	if err == nil {
		err = Errorf(Unavailable, "the connection takes no more calls")
	}
	e := Errorf(CodeOf(err), "%w", err)
	if known := (*Error)(nil); asWeft(err, &known) {
		*e = *known
	}
	if e.Outcome == NotSent && e.Reason == ReasonEncode {
		e.Code = InvalidArgument // the caller's own message
	}
	e.Method, e.Peer = method, p.Addr().String()
	return e
}

// foreignStream is a stream of a foreign wire, which holds its connection until it ends.
type foreignStream struct {
	RawStream
	call   *WireCall
	reply  *Metadata
	stored sync.Once // reply, by the goroutine that sees the end first
	stop   func()
	ended  func(Code) // counts the call
}

func (s *foreignStream) Send(msg any) error {
	err := s.RawStream.Send(msg)
	if err == io.EOF {
		return err // the server has ended the call; what it sent before can still be received
	}
	return s.over(err)
}

func (s *foreignStream) Recv(msg any) error { return s.over(s.RawStream.Recv(msg)) }

func (s *foreignStream) Close() error {
	err := s.RawStream.Close()
	s.ended(Canceled)
	s.stop()
	return err
}

// over notes the end of the call, which an error tells.
func (s *foreignStream) over(err error) error {
	if err != nil {
		if err == io.EOF {
			s.ended(0)
		} else {
			s.ended(CodeOf(err))
		}
		if s.reply != nil {
			s.stored.Do(func() { *s.reply = s.call.ReplyMetadata })
		}
		s.stop()
	}
	return err
}

// checkWires tells what is wrong with the wires of a configuration.
func checkWires(wires []Wire, transports []transport.Transport) error {
	schemes := make(map[string]bool, len(wires))
	if len(wires) > 0 {
		for _, t := range transports {
			schemes[t.Scheme()] = true
		}
	}
	for i, w := range wires {
		switch {
		case w == nil:
			return Errorf(InvalidArgument, "weft: wire %d of the configuration is nil", i)
		case schemes[w.Scheme()]:
			return Errorf(InvalidArgument, "weft: two wires or transports have the scheme %q", w.Scheme())
		}
		schemes[w.Scheme()] = true
	}
	return nil
}

// pingForeign sends a ping to the server of a foreign wire. On a wire that has none, a connection that is open counts.
func (p *Peer) pingForeign(ctx context.Context) error {
	if pinger, ok := p.w.(WirePinger); ok {
		if err := pinger.Ping(ctx); err != nil {
			return lost(err, "", p)
		}
		return nil
	}
	if !p.usable() {
		return lost(p.ended(), "", p)
	}
	return nil
}
