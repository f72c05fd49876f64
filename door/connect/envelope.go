package connect

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
)

// Flags of an envelope.
const (
	flagCompressed = 1
	flagEnd        = 2    // of Connect: the end of a stream
	flagTrailers   = 0x80 // of gRPC-Web: the trailers
)

// prefixSize is what is in front of each message: its flags and its length.
const prefixSize = 5

// The sides of a connection, as errors name them.
const (
	theClient = "the client"
	theServer = "the server"
)

// errWithin is the error of a body that ends within a message.
var errWithin = errors.New("the body ended within a message")

// readEnvelope reads a message, which may have limit bytes by Limits.MaxMessage of a side. io.EOF: there is
// none any more. Memory grows as the bytes come.
func readEnvelope(r io.Reader, side string, limit int) (flags byte, b []byte, err error) {
	var prefix [prefixSize]byte
	if n, err := io.ReadFull(r, prefix[:]); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			err = errWithin
		}
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(prefix[1:]))
	if n > int64(limit) {
		return prefix[0], nil, tooLong(n, side, limit)
	}
	var buf bytes.Buffer
	if got, err := buf.ReadFrom(io.LimitReader(r, n)); err != nil {
		return 0, nil, err
	} else if got < n {
		return 0, nil, errWithin
	}
	return prefix[0], buf.Bytes(), nil
}

func tooLong(n int64, side string, limit int) *weft.Error {
	return refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has %d bytes, Limits.MaxMessage of %s allows %d", n, side, limit)
}

// restored undoes the compression of a message.
func restored(z compress.Compressor, b []byte, side string, limit int) ([]byte, error) {
	out, err := z.Decompress(nil, b, limit)
	if known, ok := errors.AsType[*weft.Error](err); ok { // there is no room
		return nil, known
	}
	if errors.Is(err, compress.ErrTooLarge) {
		return nil, refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has more than %d bytes, which Limits.MaxMessage of %s allows", limit, side)
	}
	if err != nil {
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecompress, "the message cannot be decompressed with %s: %v", z.Name(), err)
	}
	return out, nil
}

// appendEnvelope appends a message with its prefix. It is compressed by z, if that is not nil and the
// message has as many bytes as above.
func appendEnvelope(dst []byte, c codec.Codec, v any, z compress.Compressor, above int, side string, limit int) ([]byte, error) {
	at := len(dst)
	b, err := c.Append(append(dst, 0, 0, 0, 0, 0), v)
	if err != nil {
		return nil, weft.Errorf(weft.Internal, "encode with codec %s: %w", c.Name(), err).WithReason(weft.ReasonEncode)
	}
	n := len(b) - at - prefixSize
	if n > limit {
		return nil, weft.Errorf(weft.ResourceExhausted, "the message has %d bytes, Limits.MaxMessage of %s allows %d", n, side, limit).WithReason(weft.ReasonMessageTooLarge)
	}
	if z != nil && n >= above {
		small, err := z.Compress(append(make([]byte, 0, n/2+64), b[:at+prefixSize]...), b[at+prefixSize:])
		if err != nil {
			return nil, weft.Errorf(weft.Internal, "compress with %s: %w", z.Name(), err).WithReason(weft.ReasonEncode)
		}
		if len(small)-at-prefixSize < n {
			b, n = small, len(small)-at-prefixSize
			b[at] = flagCompressed
		}
	}
	binary.BigEndian.PutUint32(b[at+1:], uint32(n))
	return b, nil
}

// appendFlagged appends bytes with a prefix.
func appendFlagged(dst []byte, flags byte, b []byte) []byte {
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// textReader decodes base64 that may be padded within, as bodies of gRPC-Web in text are.
type textReader struct {
	r    io.Reader
	in   []byte // was read and is not whole
	out  []byte
	buf  [4 << 10]byte
	fail error
}

// Read implements io.Reader.
func (t *textReader) Read(p []byte) (int, error) {
	for len(t.out) == 0 {
		if t.fail != nil {
			return 0, t.fail
		}
		n, err := t.r.Read(t.buf[:])
		for _, c := range t.buf[:n] {
			if c != '\r' && c != '\n' {
				t.in = append(t.in, c)
			}
		}
		if err != nil {
			t.fail = err
			if err == io.EOF && len(t.in)%4 != 0 {
				t.in = append(t.in, "==="[:4-len(t.in)%4]...) // without padding
			}
		}
		for ; len(t.in) >= 4; t.in = t.in[4:] {
			var four [3]byte
			n, err := base64.StdEncoding.Decode(four[:], t.in[:4])
			if err != nil {
				t.fail = refusal(weft.InvalidArgument, weft.ReasonDecode, "the body is no base64: %v", err)
				break
			}
			t.out = append(t.out, four[:n]...)
		}
	}
	n := copy(p, t.out)
	if t.out = t.out[n:]; len(t.out) == 0 {
		t.out = nil
	}
	return n, nil
}
