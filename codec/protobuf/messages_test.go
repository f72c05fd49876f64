package protobuf_test

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// fields is a message: name = 1, number = 2, tags = 3, data = 4. The types
// below are of it and have the methods of one generator each.
type fields struct {
	Name   string
	Number int64
	Tags   []string
	Data   []byte
}

func (m *fields) size() int {
	if m == nil {
		return 0
	}
	n := sizeText(len(m.Name)) + sizeText(len(m.Data))
	for _, s := range m.Tags {
		n += sizeText(len(s))
	}
	if m.Number != 0 {
		n += 1 + protowire.SizeVarint(uint64(m.Number))
	}
	return n
}

func sizeText(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(n)
}

// marshal fills the end of b, as generated code does, and panics when b is short.
func (m *fields) marshal(b []byte) (int, error) {
	at := putText(b, len(b), 4, m.Data)
	for i := len(m.Tags) - 1; i >= 0; i-- {
		at = putText(b, at, 3, m.Tags[i])
	}
	if m.Number != 0 {
		at -= 1 + protowire.SizeVarint(uint64(m.Number))
		protowire.AppendVarint(append(b[:at], 2<<3), uint64(m.Number))
	}
	return len(b) - putText(b, at, 1, m.Name), nil
}

// putText writes a field that ends at b[at] and returns where it begins.
func putText[T string | []byte](b []byte, at int, number byte, s T) int {
	if len(s) == 0 {
		return at
	}
	at -= len(s)
	copy(b[at:], s)
	at -= 1 + protowire.SizeVarint(uint64(len(s)))
	protowire.AppendVarint(append(b[:at], number<<3|2), uint64(len(s)))
	return at
}

// unmarshal adds to what m holds, as generated code does.
func (m *fields) unmarshal(b []byte) error {
	for len(b) > 0 {
		number, wireType, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		switch {
		case number == 2 && wireType == protowire.VarintType:
			u, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			m.Number, b = int64(u), b[n:]
		case number <= 4 && number != 2 && wireType == protowire.BytesType:
			s, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			switch number {
			case 1:
				m.Name = string(s)
			case 3:
				m.Tags = append(m.Tags, string(s))
			case 4:
				m.Data = append(m.Data[:0], s...)
			}
		default:
			n := protowire.ConsumeFieldValue(number, wireType, b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
		}
	}
	return nil
}

type vtMessage struct{ fields }

func (m *vtMessage) SizeVT() int {
	if m == nil {
		return 0
	}
	return m.size()
}
func (m *vtMessage) MarshalToSizedBufferVT(b []byte) (int, error) { return m.marshal(b) }
func (m *vtMessage) UnmarshalVT(b []byte) error                   { return m.unmarshal(b) }

// vtPooled has a ResetVT that keeps the memory of its bytes.
type vtPooled struct{ vtMessage }

func (m *vtPooled) ResetVT() { *m = vtPooled{vtMessage{fields{Data: m.Data[:0]}}} }

type gogo struct{ fields }

func (m *gogo) Reset() { *m = gogo{} }
func (m *gogo) Size() int {
	if m == nil {
		return 0
	}
	return m.size()
}
func (m *gogo) MarshalTo(b []byte) (int, error) { return m.marshal(b[:m.size()]) }
func (m *gogo) Unmarshal(b []byte) error        { return m.unmarshal(b) }

type gogoSized struct{ gogo }

func (m *gogoSized) MarshalTo([]byte) (int, error) {
	return 0, errors.New("MarshalTo called, MarshalToSizedBuffer is faster")
}
func (m *gogoSized) MarshalToSizedBuffer(b []byte) (int, error) { return m.marshal(b) }

// gogoOld is from a generator whose code did not check lengths.
type gogoOld struct{ gogo }

func (m *gogoOld) Unmarshal(b []byte) error {
	m.Name = string(b[2 : 2+b[1]])
	return nil
}

// changing is never of the size it says.
type changing struct{ vtMessage }

func (m *changing) SizeVT() int { return m.vtMessage.SizeVT() - 1 }

type growing struct{ vtMessage }

func (m *growing) SizeVT() int { return m.vtMessage.SizeVT() + 1 }

// static is a message of numbers alone, for which nothing is allocated.
type static struct{ a, b uint64 }

func (m *static) SizeVT() int { return 18 }
func (m *static) MarshalToSizedBufferVT(b []byte) (int, error) {
	protowire.AppendFixed64(append(b[:0], 1<<3|1), m.a)
	protowire.AppendFixed64(append(b[9:9], 2<<3|1), m.b)
	return 18, nil
}
func (m *static) UnmarshalVT(b []byte) error {
	if len(b) != 18 {
		return errors.New("not 18 bytes")
	}
	m.a, _ = protowire.ConsumeFixed64(b[1:])
	m.b, _ = protowire.ConsumeFixed64(b[10:])
	return nil
}
func (m *static) Reset() { *m = static{} }

// fragile does not think of nil.
type fragile struct{ vtMessage }

func (m *fragile) SizeVT() int { return len(m.Name) }

// halfVT has numbers, encodes itself, and is decoded by its plan.
type halfVT struct {
	A int64 `weft:"1"`
}

func (*halfVT) SizeVT() int { return 2 }
func (m *halfVT) MarshalToSizedBufferVT(b []byte) (int, error) {
	return copy(b, []byte{1 << 3, byte(m.A)}), nil
}

// outer embeds a generated message, and counts the calls of ProtoReflect.
type outer struct {
	*wrapperspb.Int64Value
	calls *int
}

func (o *outer) ProtoReflect() protoreflect.Message {
	*o.calls++
	return o.Int64Value.ProtoReflect()
}

// onlyMarshals can be encoded and not decoded.
type onlyMarshals struct{ fields }

func (m *onlyMarshals) SizeVT() int                                  { return m.size() }
func (m *onlyMarshals) MarshalToSizedBufferVT(b []byte) (int, error) { return m.marshal(b) }
