package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Features are the optional parts of the protocol. One is in force on a
// connection when both sides have it in their hello.
type Features uint64

// FeatureChecksum puts a CRC-32C of header and payload behind every frame after
// the two hellos.
const FeatureChecksum Features = 1 << 0

// Hello is the content of the first frame of each side. Every limit is the
// sender's own: what it is ready to receive.
type Hello struct {
	Features     Features
	MaxMessage   uint32   // bytes of one message's body, as it travels and decompressed
	MaxMetadata  uint32   // bytes of the inside of one metadata block
	MaxCalls     uint32   // slots for calls that the peer may have open
	MaxBindings  uint32   // bindings that the peer may make
	StreamWindow uint32   // bytes that the peer may send on a new stream unasked
	Codecs       []string // names of the codecs it reads and writes
	Compressors  []string // names of the compressors it can undo, in the order their numbers refer to
	Credential   string   // "scheme token" for the connection as a whole; empty for none
	Software     string   // for people, for example "weft-go/0.1"
}

// The tags of a hello's fields. A reader skips a tag it does not know.
const (
	tagFeatures     = 1
	tagMaxMessage   = 2
	tagMaxMetadata  = 3
	tagMaxCalls     = 4
	tagMaxBindings  = 5
	tagStreamWindow = 6
	tagCodecs       = 7
	tagCompressors  = 8
	tagCredential   = 9
	tagSoftware     = 10
)

// Bounds on what a hello may claim; outside them it is an error. Within them a
// hello always fits one frame.
const (
	MaxSlots        = 1 << 16 // calls
	MaxBindingsEver = 1 << 16 // bindings
	MaxWindow       = 1 << 30 // bytes of a stream's window
	MaxNames        = 64      // codecs, and compressors
	MaxCredential   = 8 << 10 // bytes
	MaxSoftware     = 255     // bytes
)

// What a side may assume of a peer whose hello it has not read: the limits of its first
// flight. A side that answers calls takes as much whatever its own limits are, or refuses
// the single call.
const (
	InitialMessage  = MaxPayload // bytes of a message with its metadata: one frame
	InitialCalls    = 16         // slots
	InitialBindings = 16
)

// AppendHello appends the payload of a hello frame. h must have passed Check.
func AppendHello(dst []byte, h *Hello) []byte {
	dst = binary.LittleEndian.AppendUint64(appendField(dst, tagFeatures, 8), uint64(h.Features))
	for _, f := range [...]struct {
		tag   uint16
		value uint32
	}{
		{tagMaxMessage, h.MaxMessage}, {tagMaxMetadata, h.MaxMetadata}, {tagMaxCalls, h.MaxCalls},
		{tagMaxBindings, h.MaxBindings}, {tagStreamWindow, h.StreamWindow},
	} {
		dst = binary.LittleEndian.AppendUint32(appendField(dst, f.tag, 4), f.value)
	}
	dst = appendNames(appendNames(dst, tagCodecs, h.Codecs), tagCompressors, h.Compressors)
	return appendText(appendText(dst, tagCredential, h.Credential), tagSoftware, h.Software)
}

// appendNames appends a field that lists names, unless it is empty.
func appendNames(dst []byte, tag uint16, names []string) []byte {
	size := -1 // of the commas between them
	for _, name := range names {
		size += 1 + len(name)
	}
	if size <= 0 {
		return dst
	}
	dst = appendField(dst, tag, size)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, name...)
	}
	return dst
}

// appendText appends a field, unless it is empty.
func appendText(dst []byte, tag uint16, value string) []byte {
	if value == "" {
		return dst
	}
	return append(appendField(dst, tag, len(value)), value...)
}

// appendField appends the head of a field whose value has n bytes.
func appendField(dst []byte, tag uint16, n int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, tag)
	return binary.LittleEndian.AppendUint16(dst, uint16(n))
}

// ParseHello reads the payload of a hello frame. A field that is missing is zero,
// a field that is not known is skipped, a known one must not come twice.
func ParseHello(b []byte) (*Hello, error) {
	h := &Hello{}
	var seen uint64
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, fmt.Errorf("hello ends inside a field's head: %d bytes are left, a head has 4", len(b))
		}
		tag, n := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return nil, fmt.Errorf("hello field %d claims %d bytes, %d are left", tag, n, len(b)-4)
		}
		if tag <= tagSoftware {
			if seen&(1<<tag) != 0 {
				return nil, fmt.Errorf("hello has field %d twice", tag)
			}
			seen |= 1 << tag
		}
		if err := h.set(tag, b[4:4+n]); err != nil {
			return nil, err
		}
		b = b[4+n:]
	}
	if err := h.Check(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *Hello) set(tag uint16, v []byte) error {
	switch tag {
	case tagFeatures:
		if len(v) != 8 {
			return fmt.Errorf("hello field %d has %d bytes, want 8", tag, len(v))
		}
		h.Features = Features(binary.LittleEndian.Uint64(v))
	case tagMaxMessage, tagMaxMetadata, tagMaxCalls, tagMaxBindings, tagStreamWindow:
		if len(v) != 4 {
			return fmt.Errorf("hello field %d has %d bytes, want 4", tag, len(v))
		}
		*h.limit(tag) = binary.LittleEndian.Uint32(v)
	case tagCodecs, tagCompressors:
		if len(v) == 0 {
			return nil
		}
		if bytes.Count(v, []byte{','}) >= MaxNames {
			return fmt.Errorf("hello field %d lists more than %d names", tag, MaxNames)
		}
		names := strings.Split(string(v), ",")
		if tag == tagCodecs {
			h.Codecs = names
		} else {
			h.Compressors = names
		}
	case tagCredential:
		h.Credential = string(v)
	case tagSoftware:
		h.Software = string(v)
	}
	return nil
}

func (h *Hello) limit(tag uint16) *uint32 {
	switch tag {
	case tagMaxMessage:
		return &h.MaxMessage
	case tagMaxMetadata:
		return &h.MaxMetadata
	case tagMaxCalls:
		return &h.MaxCalls
	case tagMaxBindings:
		return &h.MaxBindings
	default:
		return &h.StreamWindow
	}
}

// Check reports what is out of bounds in a hello, one's own or another's.
func (h *Hello) Check() error {
	if h.MaxCalls > MaxSlots {
		return fmt.Errorf("hello offers %d call slots, an id has room for %d", h.MaxCalls, MaxSlots)
	}
	if h.MaxBindings > MaxBindingsEver {
		return fmt.Errorf("hello offers %d bindings, a header has room for %d", h.MaxBindings, MaxBindingsEver)
	}
	if h.StreamWindow > MaxWindow {
		return fmt.Errorf("hello offers a stream window of %d bytes, at most %d are allowed", h.StreamWindow, MaxWindow)
	}
	if len(h.Credential) > MaxCredential {
		return fmt.Errorf("hello has a credential of %d bytes, at most %d are allowed", len(h.Credential), MaxCredential)
	}
	if len(h.Software) > MaxSoftware {
		return fmt.Errorf("hello has a software name of %d bytes, at most %d are allowed", len(h.Software), MaxSoftware)
	}
	if err := checkNames(h.Codecs); err != nil {
		return fmt.Errorf("hello has a codec %w", err)
	}
	if err := checkNames(h.Compressors); err != nil {
		return fmt.Errorf("hello has a compressor %w", err)
	}
	return nil
}

func checkNames(names []string) error {
	if len(names) > MaxNames {
		return fmt.Errorf("list of %d names, at most %d are allowed", len(names), MaxNames)
	}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return err
		}
	}
	return nil
}
