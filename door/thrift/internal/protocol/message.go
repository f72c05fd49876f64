package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind says what a message is.
type Kind uint8

// The kinds.
const (
	Call      Kind = 1
	Reply     Kind = 2
	Exception Kind = 3 // a TApplicationException
	Oneway    Kind = 4
)

// Form is how messages are encoded.
type Form uint8

// The forms.
const (
	Binary  Form = iota
	Old          // binary without the mark of its version
	Compact      // the compact protocol
	JSON         // the JSON protocol; structs are translated
)

// Head begins a message.
type Head struct {
	Name []byte
	Kind Kind
	Seq  int32
}

// MaxName is how many bytes the name of a method may have.
const MaxName = 4 << 10

var errHead = errors.New("thrift: this is not the beginning of a message")

// FormOf tells the form of a message by its first two bytes.
func FormOf(b []byte) (f Form, ok bool) {
	switch {
	case b[0] == 0x80 && b[1] == 1:
		return Binary, true
	case b[0] == 0x82 && b[1]&0x1f == 1:
		return Compact, true
	case b[0] == '[' && b[1] == '1':
		return JSON, true
	}
	return Old, b[0] == 0
}

// ReadHead reads the beginning of a message. n is 0 when it has not come as a whole. The name is
// part of b.
func ReadHead(b []byte, f Form) (h Head, n int, err error) {
	switch f {
	case Compact:
		return readCompact(b)
	case JSON:
		return readJSONHead(b)
	}
	if f == Binary {
		if len(b) < 4 {
			return h, 0, nil
		}
		h.Kind = Kind(b[3])
		n = 4
	}
	if len(b) < n+4 {
		return h, 0, nil
	}
	length := binary.BigEndian.Uint32(b[n:])
	n += 4
	if length > MaxName {
		return h, 0, fmt.Errorf("thrift: the name of a method has %d bytes, at most %d are allowed", length, MaxName)
	}
	end := n + int(length)
	after := end + 4
	if f == Old {
		after++
	}
	if len(b) < after {
		return h, 0, nil
	}
	h.Name = b[n:end:end]
	if f == Old {
		h.Kind = Kind(b[end])
		end++
	}
	h.Seq = int32(binary.BigEndian.Uint32(b[end:]))
	return h, after, h.check()
}

// HeadOf is ReadHead of a whole message, which has n bytes before its struct. Of one with THeader its first bytes tell the form, which must be that of
// the header: the compact one, or not.
func HeadOf(d Dialect, compact bool, b []byte) (_ Dialect, h Head, n int, err error) {
	if len(b) < 4 {
		return d, h, 0, ErrShort
	}
	if d.Framing == Headers {
		form, ok := FormOf(b)
		if !ok || form == JSON || (form == Compact) != compact {
			return d, h, 0, errors.New("thrift: the message in a THeader frame is not in the protocol that its header names")
		}
		d.Form = form
	}
	if h, n, err = ReadHead(b, d.Form); err == nil && n == 0 {
		err = ErrShort
	}
	return d, h, n, err
}

func readCompact(b []byte) (h Head, n int, err error) {
	if len(b) < 2 {
		return h, 0, nil
	}
	h.Kind = Kind(b[1] >> 5)
	seq, k := binary.Uvarint(b[2:])
	if k < 0 || seq>>32 != 0 {
		return h, 0, errHead
	}
	if k == 0 {
		return h, 0, nil
	}
	n = 2 + k
	length, k := binary.Uvarint(b[n:])
	switch {
	case k < 0 || length > MaxName:
		return h, 0, fmt.Errorf("thrift: the name of a method has %d bytes, at most %d are allowed", length, MaxName)
	case k == 0:
		return h, 0, nil
	}
	n += k
	if len(b)-n < int(length) {
		return h, 0, nil
	}
	h.Name, h.Seq = b[n:n+int(length):n+int(length)], int32(uint32(seq))
	return h, n + int(length), h.check()
}

func (h *Head) check() error {
	if h.Kind < Call || h.Kind > Oneway {
		return fmt.Errorf("thrift: a message of the kind %d", h.Kind)
	}
	return nil
}

// AppendHead appends the beginning of a message; its struct follows.
func AppendHead(b []byte, f Form, name string, k Kind, seq int32) []byte {
	switch f {
	case JSON:
		return appendJSONHead(b, name, k, seq)
	case Compact:
		b = binary.AppendUvarint(append(b, 0x82, byte(k)<<5|1), uint64(uint32(seq)))
		return append(binary.AppendUvarint(b, uint64(len(name))), name...)
	case Binary:
		b = binary.BigEndian.AppendUint32(append(b, 0x80, 1, 0, byte(k)), uint32(len(name)))
		b = append(b, name...)
	default:
		b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
		b = append(append(b, name...), byte(k))
	}
	return binary.BigEndian.AppendUint32(b, uint32(seq))
}
