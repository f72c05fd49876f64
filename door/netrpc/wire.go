package netrpc

import (
	"context"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
	"github.com/weftrpc/weft/internal/fit"
)

// Wire returns a wire to servers of net/rpc, for addresses such as
// "netrpc://127.0.0.1:1234". Whatever codec a call names, it travels as gob.
func Wire() weft.Wire { return wire{} }

// WireHTTP returns a wire to servers of net/rpc behind HTTP, as rpc.HandleHTTP makes them, for
// addresses such as "netrpc+http://127.0.0.1:1234". path is that of the server; "": that of
// rpc.DefaultRPCPath.
func WireHTTP(path string) weft.Wire {
	if path == "" {
		path = defaultPath
	}
	return wire{path}
}

// wire implements weft.Wire.
type wire struct {
	path string // of the CONNECT that comes first; "": none does
}

func (w wire) Scheme() string {
	if w.path != "" {
		return weft.WireNetRPC + "+http"
	}
	return weft.WireNetRPC
}

func (wire) Protocols() []string { return nil }

// Dial implements weft.Wire.
func (w wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if w.path != "" {
		if conn, err = tunnel(ctx, conn, w.path); err != nil {
			return nil, err
		}
	}
	c := &clientConn{Calls: pending.New[answer](conn, newWriter(conn, cfg.Limits)), codec: gob.New(), limit: cfg.Limits.MaxMessage}
	c.uncarried = sync.OnceFunc(func() {
		cfg.Logger.Warn("weft: this wire carries no credentials, the client's is not sent", "wire", w.Scheme(), "peer", cfg.Address)
	})
	if cfg.Credential != (weft.Credential{}) {
		c.uncarried()
	}
	// It ends when the connection does.
	go c.read()
	return c, nil
}

// clientConn is one connection of the wire.
type clientConn struct {
	*pending.Calls[answer]
	codec codec.Codec
	limit int

	uncarried func() // tells once that a credential was not sent
}

// answer is what ends a call.
type answer struct {
	text string
	body []byte
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	if w.Metadata.Get("authorization") != "" {
		c.uncarried()
	}
	body, err := c.codec.Append(nil, w.Args)
	if err != nil {
		return pending.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if len(body) > c.limit {
		return pending.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the client allows %d", len(body), c.limit)
	}
	w.Sent = len(body)
	a, err := c.Do(ctx, w.Oneway, func(seq uint64) ([][]byte, error) {
		head, err := c.codec.Append(nil, &header.Request{ServiceMethod: w.Method, Seq: seq})
		return [][]byte{head, body}, err
	})
	if err != nil || w.Oneway {
		return err
	}
	if a.text == "" {
		w.Received = len(a.body)
	}
	return c.finish(a, w.Reply)
}

// Check implements weft.WireChecker: messages are gob, whatever codec a call names.
func (c *clientConn) Check(_ codec.Codec, msg any) error { return fit.Carries(c.codec, msg) }

// finish makes a result of an answer.
func (c *clientConn) finish(a answer, reply any) error {
	switch {
	case a.text != "":
		return errtext.Parse(a.text)
	case reply == nil:
		return nil
	}
	if err := c.codec.Decode(a.body, reply); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	return nil
}

// keptHeader is the largest buffer for headers that is used again, in bytes.
const keptHeader = 64 << 10

// read takes responses off the connection until it ends.
func (c *clientConn) read() {
	r := gob.NewReader(c.Conn(), c.limit)
	var buf []byte
	for {
		var err error
		if buf, err = r.Next(buf[:0]); err != nil {
			c.Lost(err)
			return
		}
		var h header.Response
		if err := c.codec.Decode(buf, &h); err != nil {
			c.Lost(err)
			return
		}
		body, err := r.Next(nil)
		if err != nil {
			c.Lost(err)
			return
		}
		c.Answer(h.Seq, answer{text: h.Error, body: body})
		if cap(buf) > keptHeader {
			buf = nil // of the text of an error
		}
	}
}
