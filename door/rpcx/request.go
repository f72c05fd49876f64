package rpcx

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
)

// request is a request that is ready to be sent.
type request struct {
	call    *weft.WireCall
	path    string
	method  string
	serial  byte
	flags   byte
	payload []byte
	cred    string // that of the connection, where the call has none; "": neither has
}

// deflater is a compressor with its number.
type deflater struct {
	compress.Compressor
	number byte
	above  int // bytes below which a payload is sent as it is
}

// encodeRequest encodes the request of a call. names are those of codecs by their number.
func encodeRequest(w *weft.WireCall, names []string, limit int, whose string, z *deflater) (*request, error) {
	n := numberOf(names, w.Codec.Name())
	if n < 0 {
		return nil, pending.NotSent(weft.InvalidArgument, weft.ReasonNoCodec, "rpcx has no number for codec %s: give it one in Codecs of the %s's configuration of package rpcx", w.Codec.Name(), whose)
	}
	body, err := asRpcx(w.Codec).Append(nil, w.Args)
	if err != nil {
		return nil, pending.NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if len(body) > limit {
		return nil, pending.NotSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the %s allows %d", len(body), whose, limit)
	}
	dot := strings.LastIndexByte(w.Method, '.') // there is one: weft checks names
	r := &request{call: w, path: w.Method[:dot], method: w.Method[dot+1:], serial: byte(n), payload: body}
	if w.Oneway {
		r.flags |= frame.Oneway
	}
	if z != nil && len(body) > compressAbove && len(body) >= z.above {
		if packed, err := z.Compress(nil, body); err == nil && len(packed) < len(body) {
			r.payload = packed
			r.flags |= z.number << frame.CompressionShift
		}
	}
	return r, nil
}

// append appends the request under its number. ms is the time that the call has; 0: it has no end. first says
// that the peer may not have been told yet that this is a program of weft.
func (r *request) append(b []byte, seq uint64, ms int64, first bool) []byte {
	b, at := frame.Begin(b, r.flags, r.serial, seq, nil)
	b = frame.AppendPart(frame.AppendPart(b, r.path), r.method)
	b, length := frame.Open(b)
	b = appendMetadata(b, r.call.Metadata, false)
	if r.cred != "" {
		b = frame.AppendPair(b, keyAuth, r.cred)
	}
	if ms > 0 {
		b = frame.AppendPair(b, keyTimeout, strconv.FormatInt(ms, 10))
	}
	if first {
		b = frame.AppendPair(b, keyWire, "1")
	}
	frame.Close(b, length)
	b, length = frame.Open(b)
	b = append(b, r.payload...)
	frame.Close(b, length)
	frame.End(b, at)
	return b
}

// notWritten is the error of a message that was not written.
func notWritten(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return pending.NotSent(weft.CodeOf(err), "", "%w before the message was written: the peer does not read", err)
	}
	return pending.NotSent(weft.Unavailable, "", "write: %w", err)
}
