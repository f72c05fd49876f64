package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/internal/webjson"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/fit"
)

// Wire returns a wire to servers of JSON-RPC 2.0 over TCP, for addresses such as
// "jsonrpc://127.0.0.1:1234". A request that is an object goes as the params, by name; any other is
// the one element of an array, a list the array itself, null an empty one. Whatever codec a call names, it travels
// as JSON. Requests and notifications of a server are ignored.
func Wire() weft.Wire { return wire{} }

// WireOne returns a wire to servers of JSON-RPC 1.0 as Go's net/rpc/jsonrpc serves it, for
// addresses such as "jsonrpc1://127.0.0.1:1234".
func WireOne() weft.Wire { return wire{one: true} }

// wire implements weft.Wire.
type wire struct{ one bool }

// Scheme implements weft.Wire.
func (w wire) Scheme() string {
	if w.one {
		return weft.WireJSONRPC + "1"
	}
	return weft.WireJSONRPC
}

// Protocols implements weft.Wire.
func (wire) Protocols() []string { return nil }

// Dial implements weft.Wire.
func (w wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	line := func(buf, message []byte) ([]byte, error) { return append(append(buf, message...), '\n'), nil }
	out := combine.New(conn, cfg.Limits.WriteBuffer, cfg.Limits.WriteTimeout, line)
	c := &clientConn{Calls: pending.New[envelope.Response](conn, out), codec: webjson.New(false), one: w.one, limit: cfg.Limits.MaxMessage}
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
	*pending.Calls[envelope.Response]
	codec codec.Codec
	one   bool
	limit int

	uncarried func() // tells once that a credential was not sent
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	if w.Metadata.Get("authorization") != "" {
		c.uncarried()
	}
	params, err := paramsOf(c.codec, w, c.limit, c.one)
	if err != nil {
		return err
	}
	r, err := c.Do(ctx, w.Oneway, func(seq uint64) ([][]byte, error) {
		request := envelope.Request{One: c.one, Method: w.Method, Params: params, ID: strconv.AppendUint(nil, seq, 10)}
		return [][]byte{request.Append(nil)}, nil
	})
	if err != nil || w.Oneway {
		return err
	}
	w.Received = len(r.Result)
	return finish(c.codec, r, w.Reply)
}

// paramsOf encodes the request of a call.
func paramsOf(c codec.Codec, w *weft.WireCall, limit int, one bool) ([]byte, error) {
	body, err := c.Append(nil, w.Args)
	if err != nil {
		return nil, pending.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if len(body) > limit {
		return nil, pending.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the client allows %d", len(body), limit)
	}
	w.Sent = len(body)
	switch {
	case !one && string(body) == "null": // a list that is nil has no element
		return []byte("[]"), nil
	case one || body[0] != '{' && body[0] != '[':
		return append(append([]byte("["), body...), ']'), nil
	}
	return body, nil
}

// Check implements weft.WireChecker: messages are JSON, whatever codec a call names.
func (c *clientConn) Check(_ codec.Codec, msg any) error { return fit.Carries(c.codec, msg) }

// finish makes a result of a response.
func finish(c codec.Codec, r envelope.Response, reply any) error {
	switch {
	case r.Error != nil:
		return errorIn(r)
	case reply == nil:
		return nil
	}
	if r.Result == nil {
		r.Result = []byte("null")
	}
	if err := c.Decode(r.Result, reply); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	return nil
}

// errorIn is the error that a response tells of.
func errorIn(r envelope.Response) *weft.Error {
	if r.Error.Raw == nil {
		return errtext.Parse(r.Text)
	}
	return errorOf(r.Error)
}

// longValue is the error of a connection whose server has sent a value that is too long. The calls behind it cannot be answered.
func longValue(limit int) error {
	return fmt.Errorf("the server has sent a value of more than %d bytes, Limits.MaxMessage of the client allows %d for a reply", limit+envelopeRoom, limit)
}

// read takes responses off the connection until it ends.
func (c *clientConn) read() {
	r := envelope.NewReader(c.Conn(), c.limit+envelopeRoom, nil, nil)
	for {
		value, err := r.Next()
		if errors.Is(err, envelope.ErrTooLarge) {
			err = longValue(c.limit)
		}
		if err != nil {
			c.Lost(err)
			return
		}
		if !c.answered(bytes.Clone(value)) {
			return
		}
	}
}

// answered takes one response. It returns false if the connection has ended with it.
func (c *clientConn) answered(value []byte) bool {
	response, err := envelope.ReadResponse(value)
	if err != nil {
		c.Lost(err)
		return false
	}
	if response.Asks { // as servers do that publish events
		return true
	}
	if seq, err := strconv.ParseUint(string(response.ID), 10, 64); err == nil {
		c.Answer(seq, response)
	} else if response.Error != nil {
		// The server could not read a request, and ends the connection.
		c.Lost(weft.Errorf(weft.Unavailable, "the server answered %d %s to no request", response.Error.Code, response.Error.Message))
		return false
	}
	return true
}
