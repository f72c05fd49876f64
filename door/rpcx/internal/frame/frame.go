// Package frame has the frames of rpcx's wire: a header of 16 bytes, the path and the method
// of a service, metadata and a payload, each behind its length. All numbers are big-endian.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HeaderSize is how many bytes stand before the part of a frame whose length the header gives.
const HeaderSize = 16

// Magic is the first byte of a frame; the second one is 0, the only version.
const Magic = 0x08

// What the third byte of a frame says. The compression stands in bits 4 to 2.
const (
	Response         = 0x80
	Heartbeat        = 0x40
	Oneway           = 0x20
	Compressed       = 0x1c
	Status           = 0x03
	Failed           = 0x01 // a Status
	CompressionShift = 2
	SerialShift      = 4 // of the serialization in the fourth byte, whose other bits are 0
)

// least is the length of the part behind the header when all in it is empty: four lengths.
const least = 4 * 4

// ErrMalformed is the error of bytes that are no frame.
var ErrMalformed = errors.New("a frame of rpcx is malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Frame is one frame. Its slices are parts of the bytes that it was read from.
type Frame struct {
	Flags   byte
	Serial  byte // the serialization, 0 to 15
	Seq     uint64
	Names   []byte // path and method with their lengths, as they stand in the frame
	Path    []byte
	Method  []byte
	Meta    []byte
	Payload []byte
	// Owned says that the bytes are the frame's alone: they do not change when the next frame is read.
	Owned bool
	// TooLong is the length of a frame beyond the limit, whose bytes were thrown away: nothing but
	// the header is known. 0: the frame is whole.
	TooLong uint32
}

// Has reports whether a flag is set.
func (f *Frame) Has(flag byte) bool { return f.Flags&flag != 0 }

// Compression is the number of the payload's compression; 0: none.
func (f *Frame) Compression() byte { return f.Flags & Compressed >> CompressionShift }

// Failed reports whether the frame is the response of a call that failed.
func (f *Frame) Failed() bool { return f.Flags&Status == Failed }

// header reads the first HeaderSize bytes of a frame.
func header(b []byte) (f Frame, total uint32, err error) {
	switch {
	case b[0] != Magic:
		return f, 0, malformed("it begins with %#02x, want %#02x", b[0], Magic)
	case b[1] != 0:
		return f, 0, malformed("it has version %d, want 0", b[1])
	}
	f.Flags, f.Serial = b[2], b[3]>>SerialShift
	f.Seq = binary.BigEndian.Uint64(b[4:])
	if total = binary.BigEndian.Uint32(b[12:]); total < least {
		err = malformed("it has %d bytes behind its header, want at least %d", total, least)
	}
	return f, total, err
}

// body reads what stands behind the header. The length of the payload is not looked at: it is
// the rest of the frame.
func (f *Frame) body(b []byte) error {
	names := b
	var err error
	if f.Path, b, err = part(b, "path"); err != nil {
		return err
	}
	if f.Method, b, err = part(b, "method"); err != nil {
		return err
	}
	end := len(names) - len(b)
	f.Names = names[:end:end]
	if f.Meta, b, err = part(b, "metadata"); err != nil {
		return err
	}
	if len(b) < 4 {
		return malformed("it ends before the length of its payload")
	}
	f.Payload = b[4:]
	return nil
}

// part takes a part with its length off b.
func part(b []byte, what string) (p, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, malformed("it ends before the length of its %s", what)
	}
	n := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, nil, malformed("its %s has %d bytes, of %d that are left", what, n, len(b))
	}
	return b[:n:n], b[n:], nil
}

// Pair takes one pair off metadata that is not empty.
func Pair(meta []byte) (key, value, rest []byte, err error) {
	if key, rest, err = part(meta, "metadata key"); err != nil {
		return nil, nil, nil, err
	}
	value, rest, err = part(rest, "metadata value")
	return key, value, rest, err
}
