package grpc

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
)

// prefixSize is what is in front of each message: whether it is compressed, and its length.
const prefixSize = 5

// sizeOf is the length of a message of which at least the prefix is there. One beyond an int of 32 bits is beyond all limits.
func sizeOf(p []byte) int { return int(min(binary.BigEndian.Uint32(p[1:]), math.MaxInt32)) }

// The sides of a connection, as errors name them.
const (
	theClient = "the client"
	theServer = "the server"
)

// tooLong is the error of a message that is longer than Limits.MaxMessage of a side.
func tooLong(n int, side string, limit int) *weft.Error {
	return refused(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has %d bytes, Limits.MaxMessage of %s allows %d", n, side, limit)
}

// flagError is what is wrong with the first byte of a message.
func flagError(flag byte, z compress.Compressor) *weft.Error {
	switch {
	case flag > 1:
		return refused(weft.Internal, weft.ReasonProtocol, "a message begins with the flag %d, want 0 or 1", flag)
	case flag == 1 && z == nil:
		return refused(weft.Internal, weft.ReasonDecompress, "a message is compressed, and no grpc-encoding says how")
	}
	return nil
}

// restored undoes the compression of a message, which has limit bytes by Limits.MaxMessage of a side at most.
func restored(z compress.Compressor, b []byte, side string, limit int) ([]byte, error) {
	out, err := z.Decompress(nil, b, limit)
	if known, ok := errors.AsType[*weft.Error](err); ok { // there is no room
		return nil, known
	}
	if errors.Is(err, compress.ErrTooLarge) {
		return nil, refused(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the message has more than %d bytes, which Limits.MaxMessage of %s allows", limit, side)
	}
	if err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "decompress the message with %s: %w", z.Name(), err).WithReason(weft.ReasonDecompress)
	}
	return out, nil
}

// appendMessage appends a message with its prefix. It is compressed by z, if that is not nil and
// the message has as many bytes as above. limit is Limits.MaxMessage of a side.
func appendMessage(dst []byte, c codec.Codec, v any, z compress.Compressor, above int, side string, limit int) ([]byte, error) {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0)
	b, err := c.Append(dst, v)
	if err != nil {
		return dst[:at], weft.Errorf(weft.Internal, "encode with codec %s: %w", c.Name(), err).WithReason(weft.ReasonEncode)
	}
	n := len(b) - at - prefixSize
	if n > limit {
		return dst[:at], weft.Errorf(weft.ResourceExhausted, "the message has %d bytes, Limits.MaxMessage of %s allows %d", n, side, limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	if z != nil && n >= above {
		small, err := z.Compress(append(make([]byte, 0, n/2+64), b[:at+prefixSize]...), b[at+prefixSize:])
		if err != nil {
			return dst[:at], weft.Errorf(weft.Internal, "compress with %s: %w", z.Name(), err).WithReason(weft.ReasonEncode)
		}
		if len(small)-at-prefixSize < n {
			b, n = small, len(small)-at-prefixSize
			b[at] = 1
		}
	}
	binary.BigEndian.PutUint32(b[at+1:], uint32(n))
	return b, nil
}

// accepts reports whether a list of compressors has a name in it.
func accepts(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(one) == name {
			return true
		}
	}
	return false
}

// namesOf is the list of what a side can decompress.
func namesOf(all []compress.Compressor) string {
	names := identity
	for _, z := range all {
		names += "," + z.Name()
	}
	return names
}
