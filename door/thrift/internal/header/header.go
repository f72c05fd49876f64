// Package header reads and writes the headers of THeader, the framing of Thrift that carries
// metadata.
package header

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weftrpc/weft/compress"
)

// Header is what stands before a message.
type Header struct {
	Flags   uint16
	Seq     int32
	Compact bool // the protocol of the message
	Zlib    bool // the message is compressed
	Pairs   []string
}

// The keys that are not the application's; all of them begin with Reserved.
const (
	Timeout  = "weft-timeout" // milliseconds
	Code     = "weft-code"
	Reason   = "weft-reason"
	Outcome  = "weft-outcome"
	Reserved = "weft-"
)

// maxPairs is how many pairs a header may have: empty ones take sixteen times their bytes.
const maxPairs = 1 << 10

// fixed is how many bytes a header has at least, from its magic to its length.
const fixed = 10

const (
	protocolBinary  = 0
	protocolCompact = 2
	transformZlib   = 1
	infoPairs       = 1
)

// What a frame can have that is not known here; the peer is told by a code of its own.
var (
	ErrTransform = errors.New("thrift: a transform of THeader other than zlib")
	ErrProtocol  = errors.New("thrift: a protocol of THeader other than binary and compact")
	errShort     = errors.New("thrift: the header of a THeader frame is cut short")
	errPairs     = errors.New("thrift: the header of a THeader frame has more than 1024 pairs")
	errLong      = errors.New("thrift: the header of a THeader frame is longer than a frame may be")
)

// Parse reads a frame, without its length. A message that is compressed becomes one of at most most bytes, and hold is called with how many
// bytes are held for that meanwhile, for which it may have no room, and with as many below zero afterwards. Another message is part of the
// frame. Keys and values are copied. With ErrTransform and ErrProtocol the header is valid; with compress.ErrTooLarge and an error of hold it
// is too, and message is the beginning of the message.
func Parse(frame []byte, most int, hold func(n int) error) (h Header, message []byte, err error) {
	h, message, err = parse(frame)
	if err != nil || !h.Zlib {
		return h, message, err
	}
	packed := message
	if message, err = inflateWithin(packed, most, hold); err != nil {
		message = beginning(packed)
	}
	return h, message, err
}

// Packed is the message of a frame for which Parse has returned compress.ErrTooLarge, as it came: Zlib undoes the compression.
func Packed(frame []byte) []byte {
	_, message, _ := parse(frame)
	return message
}

// Zlib is the compression of messages. It implements compress.Compressor.
type Zlib struct{}

// Name implements compress.Compressor.
func (Zlib) Name() string { return "zlib" }

// Compress implements compress.Compressor.
func (Zlib) Compress(dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	z := zlib.NewWriter(out)
	if _, err := z.Write(src); err != nil {
		return dst, err
	}
	if err := z.Close(); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

// Decompress implements compress.Compressor. Bytes behind the compressed form are no error.
func (Zlib) Decompress(dst, src []byte, limit int) ([]byte, error) {
	return inflate(dst, src, limit)
}

// ParseBeginning is Parse of the beginning of a frame, whose message is not read: message is its beginning. whole is false when more of the
// frame is needed, which must be longer than most bytes.
func ParseBeginning(frame []byte, most int) (h Header, message []byte, whole bool, err error) {
	if len(frame) < fixed {
		return h, nil, false, nil
	}
	size := fixed + 4*int(binary.BigEndian.Uint16(frame[8:]))
	if size+begins > most {
		return h, nil, true, errLong
	}
	if len(frame) < size+begins {
		return h, nil, false, nil
	}
	if h, message, err = parse(frame); h.Zlib {
		message = beginning(message)
	}
	return h, message, true, err
}

// parse reads a frame. A message that is compressed stays so.
func parse(frame []byte) (h Header, message []byte, err error) {
	if len(frame) < fixed {
		return h, nil, errShort
	}
	h.Flags = binary.BigEndian.Uint16(frame[2:])
	h.Seq = int32(binary.BigEndian.Uint32(frame[4:]))
	size := 4 * int(binary.BigEndian.Uint16(frame[8:]))
	if size > len(frame)-fixed {
		return h, nil, errShort
	}
	r := reader{b: frame[fixed : fixed+size]}
	message = frame[fixed+size:]
	protocol, transforms := r.number(), r.number()
	switch {
	case r.bad:
		return h, nil, errShort
	case protocol == protocolCompact:
		h.Compact = true
	case protocol != protocolBinary:
		return h, nil, ErrProtocol
	case transforms > 1:
		return h, nil, ErrTransform
	}
	if transforms == 1 {
		if r.number() != transformZlib {
			return h, nil, ErrTransform
		}
		h.Zlib = true
	}
	// Padding is a kind of information that does not exist.
	for len(r.b) > 0 && !r.bad && r.number() == infoPairs {
		for n := r.number(); n > 0 && !r.bad; n-- {
			if len(h.Pairs) == 2*maxPairs {
				return h, nil, errPairs
			}
			h.Pairs = append(h.Pairs, r.text(), r.text())
		}
	}
	if r.bad {
		return h, nil, errShort
	}
	return h, message, nil
}

// begins is how many bytes of a message are read at least to know its name.
const begins = 8 << 10

// beginning is what of a compressed message tells its name; nil: it cannot be decompressed.
func beginning(packed []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	b := make([]byte, begins)
	n, _ := io.ReadFull(z, b) // what comes before an error may tell enough
	return b[:n]
}

// reader reads a header.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v>>32 != 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// inflateWithin decompresses a message of at most most bytes. Most become no longer than the first limit.
func inflateWithin(b []byte, most int, hold func(n int) error) (out []byte, err error) {
	err = compress.ErrTooLarge
	for limit := 0; err == compress.ErrTooLarge && limit < most; {
		limit = min(max(4*limit, 4*len(b), 4<<10), most)
		held := 3 * limit // the memory grows by copying
		if err := hold(held); err != nil {
			return nil, err
		}
		out, err = inflate(nil, b, limit)
		_ = hold(-held) // there is room
	}
	return out, err
}

// inflate appends what b becomes, at most most bytes, to dst.
func inflate(dst, b []byte, most int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err == nil {
		dst, err = compress.AppendFrom(dst, z, most)
	}
	if err != nil && err != compress.ErrTooLarge {
		err = fmt.Errorf("thrift: decompress a message: %w", err)
	}
	return dst, err
}

// Append appends a frame, with its length, around what message appends.
func (h *Header) Append(b []byte, message func(b []byte) ([]byte, error)) ([]byte, error) {
	from := len(b)
	b = append(b, 0, 0, 0, 0, 0x0f, 0xff)
	b = binary.BigEndian.AppendUint16(b, h.Flags)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Seq))
	b = append(b, 0, 0)
	start := len(b)
	protocol := uint64(protocolBinary)
	if h.Compact {
		protocol = protocolCompact
	}
	b = binary.AppendUvarint(b, protocol)
	if h.Zlib {
		b = append(b, 1, transformZlib)
	} else {
		b = append(b, 0)
	}
	if n := len(h.Pairs) / 2; n > 0 {
		b = binary.AppendUvarint(append(b, infoPairs), uint64(n))
		for _, s := range h.Pairs[:2*n] {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	for (len(b)-start)%4 != 0 {
		b = append(b, 0)
	}
	size := (len(b) - start) / 4
	if size > 0xffff {
		return b[:from], fmt.Errorf("thrift: the header of a THeader frame has %d bytes, at most %d are possible", 4*size, 4*0xffff)
	}
	binary.BigEndian.PutUint16(b[start-2:], uint16(size))
	b, err := h.appendMessage(b, message)
	if err != nil {
		return b[:from], err
	}
	binary.BigEndian.PutUint32(b[from:], uint32(len(b)-from-4))
	return b, nil
}

func (h *Header) appendMessage(b []byte, message func(b []byte) ([]byte, error)) ([]byte, error) {
	if !h.Zlib {
		return message(b)
	}
	plain, err := message(nil)
	if err != nil {
		return b, err
	}
	return Zlib{}.Compress(b, plain)
}
