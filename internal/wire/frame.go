package wire

import (
	"encoding/binary"
	"fmt"
)

// Preface is what each side sends before its first frame. The first byte cannot
// begin HTTP, HTTP/2, TLS, JSON, gob, Thrift or rpcx, so one port can serve them
// all; CR LF shows a path that rewrites line ends; the last byte is the major version.
const Preface = "\xf7weft\r\n\x01"

const (
	// HeaderSize is the size of a frame's fixed header.
	HeaderSize = 16
	// MaxPayload is the most bytes that may follow a header. Longer messages
	// travel as several frames, so that small calls can pass them.
	MaxPayload = 16 << 10
	// ChecksumSize is the size of the checksum behind each frame, where both
	// sides asked for it.
	ChecksumSize = 4
)

// Type is the kind of a frame.
type Type uint8

// The frame types. A receiver skips a type it does not know when the top bit is
// set, and closes the connection otherwise.
const (
	TypeHello   Type = 1  // versions, limits and features; the first frame of each side
	TypeBind    Type = 2  // gives a method and a codec a number
	TypeRequest Type = 3  // begins a call
	TypeReply   Type = 4  // ends a call well
	TypeError   Type = 5  // ends a call badly
	TypeChunk   Type = 6  // goes on with a message that did not fit one frame
	TypeData    Type = 7  // a message of a stream
	TypeCredit  Type = 8  // lets the peer send more on a stream
	TypeCancel  Type = 9  // the caller does not want the result any more
	TypePing    Type = 10 // asks for a sign of life
	TypeGoAway  Type = 11 // asks for no more calls

	// typeIgnorable marks the types that a receiver may skip when it does not know them.
	typeIgnorable Type = 0x80
)

// Known reports whether this version gives the type a meaning.
func (t Type) Known() bool { return t >= TypeHello && t <= TypeGoAway }

// Ignorable reports whether an unknown frame of this type may be skipped.
func (t Type) Ignorable() bool { return t&typeIgnorable != 0 }

// Flags are the bits of a header that say how to read the rest. A bit that has
// no meaning for a frame's type is sent as zero and not looked at.
type Flags uint8

// The flags. The top bit has a meaning of its own for each type.
const (
	FlagMeta       Flags = 0x01 // REQUEST, REPLY, ERROR: the message begins with a metadata block
	FlagCompressed Flags = 0x02 // REQUEST, REPLY, DATA: the body is compressed
	FlagMore       Flags = 0x04 // REQUEST, REPLY, ERROR, DATA, CHUNK: a CHUNK follows
	FlagAnswer     Flags = 0x08 // the call was opened by the receiver of this frame
	FlagEnd        Flags = 0x10 // REQUEST, DATA: the sender sends nothing more on this stream
	FlagStream     Flags = 0x20 // REQUEST: opens a stream
	FlagOneway     Flags = 0x40 // REQUEST: the reply carries no body
	FlagMillis     Flags = 0x80 // REQUEST: the timeout counts milliseconds, not microseconds
	FlagRefused    Flags = 0x80 // ERROR: the handler was not run
	FlagAck        Flags = 0x80 // PING, GOAWAY: the answer to one
)

// Header is the fixed part in front of every frame.
type Header struct {
	Length uint32 // bytes of payload behind the header
	Type   Type
	Flags  Flags
	Code   uint16 // REQUEST, BIND: binding; ERROR, CANCEL, GOAWAY: status code; HELLO: minor version
	ID     uint32 // the call: slot in the low 16 bits, generation in the high 16
	Arg    uint32 // REQUEST: timeout, 0 for none; CREDIT: bytes
}

// PutHeader writes h into the first HeaderSize bytes of b.
func PutHeader(b []byte, h Header) {
	_ = b[HeaderSize-1]
	binary.LittleEndian.PutUint32(b[0:], h.Length)
	b[4] = byte(h.Type)
	b[5] = byte(h.Flags)
	binary.LittleEndian.PutUint16(b[6:], h.Code)
	binary.LittleEndian.PutUint32(b[8:], h.ID)
	binary.LittleEndian.PutUint32(b[12:], h.Arg)
}

// ParseHeader reads a header from the first HeaderSize bytes of b.
func ParseHeader(b []byte) Header {
	_ = b[HeaderSize-1]
	return Header{
		Length: binary.LittleEndian.Uint32(b[0:]),
		Type:   Type(b[4]),
		Flags:  Flags(b[5]),
		Code:   binary.LittleEndian.Uint16(b[6:]),
		ID:     binary.LittleEndian.Uint32(b[8:]),
		Arg:    binary.LittleEndian.Uint32(b[12:]),
	}
}

// AppendFrame appends a whole frame. The payload must not be longer than MaxPayload.
func AppendFrame(dst []byte, h Header, payload []byte) []byte {
	h.Length = uint32(len(payload))
	var b [HeaderSize]byte
	PutHeader(b[:], h)
	dst = append(dst, b[:]...)
	return append(dst, payload...)
}

// Check reports what is wrong with a header that a peer sent: a payload that
// is too long, or a type that is neither known nor ignorable.
func (h *Header) Check() error {
	if h.Length > MaxPayload {
		return fmt.Errorf("frame of type %d claims %d bytes of payload, at most %d are allowed", h.Type, h.Length, MaxPayload)
	}
	if !h.Type.Known() && !h.Type.Ignorable() {
		return fmt.Errorf("unknown frame type %d", h.Type)
	}
	return nil
}

// Slot is the number of the call in the table of the side that opened it.
func Slot(id uint32) uint32 { return id & 0xffff }

// ID puts a call id together from a slot and a generation.
func ID(slot uint32, generation uint16) uint32 { return uint32(generation)<<16 | slot }
