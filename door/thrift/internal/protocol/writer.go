package protocol

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

// Writer appends values to Buf. The zero value writes the binary protocol.
type Writer struct {
	Buf     []byte
	Compact bool
	Aux     any  // belongs to what writes by the writer, and is kept by Reset
	Armored bool // bytes that are no text are written in base64; Reset sets it to false

	last  int16 // the number of the field before, in the compact protocol
	stack []int16
	flag  bool // the field flagged is a bool whose value comes next
	id    int16
}

// Reset makes the writer append to buf.
func (w *Writer) Reset(buf []byte, compact bool) {
	*w = Writer{Buf: buf, Compact: compact, Aux: w.Aux, stack: w.stack[:0]}
}

// Begin begins a struct.
func (w *Writer) Begin() {
	if w.Compact {
		w.stack = append(w.stack, w.last)
		w.last = 0
	}
}

// End ends a struct whose fields Stop has ended.
func (w *Writer) End() {
	if n := len(w.stack); n > 0 {
		w.last = w.stack[n-1]
		w.stack = w.stack[:n-1]
	}
}

// Stop ends the fields of a struct.
func (w *Writer) Stop() { w.Buf = append(w.Buf, 0) }

// Field begins a field; its value follows.
func (w *Writer) Field(t Type, id int16) {
	switch {
	case !w.Compact:
		w.Buf = append(w.Buf, byte(t), byte(uint16(id)>>8), byte(id))
	case t == Bool:
		w.flag, w.id = true, id
	default:
		w.field(compactType(t), id)
	}
}

// field begins a field in the compact protocol.
func (w *Writer) field(c byte, id int16) {
	if d := int(id) - int(w.last); d > 0 && d <= 15 {
		w.Buf = append(w.Buf, byte(d)<<4|c)
	} else {
		w.Buf = append(w.Buf, c)
		w.varint(zigzag(int64(id)))
	}
	w.last = id
}

func (w *Writer) varint(v uint64) {
	switch { // most have up to three bytes
	case v < 1<<7:
		w.Buf = append(w.Buf, byte(v))
	case v < 1<<14:
		w.Buf = append(w.Buf, byte(v)|0x80, byte(v>>7))
	case v < 1<<21:
		w.Buf = append(w.Buf, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14))
	default:
		w.Buf = binary.AppendUvarint(w.Buf, v)
	}
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// List begins a list or set of n elements.
func (w *Writer) List(t Type, n int) {
	switch {
	case !w.Compact:
		w.Buf = binary.BigEndian.AppendUint32(append(w.Buf, byte(t)), uint32(n))
	case n < 15:
		w.Buf = append(w.Buf, byte(n)<<4|compactType(t))
	default:
		w.Buf = append(w.Buf, 0xf0|compactType(t))
		w.varint(uint64(n))
	}
}

// Map begins a map of n pairs.
func (w *Writer) Map(key, value Type, n int) {
	switch {
	case !w.Compact:
		w.Buf = binary.BigEndian.AppendUint32(append(w.Buf, byte(key), byte(value)), uint32(n))
	case n == 0:
		w.Buf = append(w.Buf, 0)
	default:
		w.varint(uint64(n))
		w.Buf = append(w.Buf, compactType(key)<<4|compactType(value))
	}
}

// Bool appends a bool.
func (w *Writer) Bool(v bool) {
	c := byte(0)
	if v {
		c = 1
	}
	if w.Compact && !v {
		c = 2
	}
	if w.flag {
		w.flag = false
		w.field(c, w.id)
		return
	}
	w.Buf = append(w.Buf, c)
}

// I8 appends an integer of 8 bits.
func (w *Writer) I8(v int8) { w.Buf = append(w.Buf, byte(v)) }

// I16 appends an integer of 16 bits.
func (w *Writer) I16(v int16) {
	if w.Compact {
		w.varint(zigzag(int64(v)))
		return
	}
	w.Buf = binary.BigEndian.AppendUint16(w.Buf, uint16(v))
}

// I32 appends an integer of 32 bits.
func (w *Writer) I32(v int32) {
	if w.Compact {
		w.varint(zigzag(int64(v)))
		return
	}
	w.Buf = binary.BigEndian.AppendUint32(w.Buf, uint32(v))
}

// I64 appends an integer of 64 bits.
func (w *Writer) I64(v int64) {
	if w.Compact {
		w.varint(zigzag(v))
		return
	}
	w.Buf = binary.BigEndian.AppendUint64(w.Buf, uint64(v))
}

// Int appends an integer that fits the type t.
func (w *Writer) Int(t Type, v int64) {
	switch t {
	case I8:
		w.I8(int8(v))
	case I16:
		w.I16(int16(v))
	case I32:
		w.I32(int32(v))
	default:
		w.I64(v)
	}
}

// Double appends a float64.
func (w *Writer) Double(v float64) {
	if w.Compact {
		w.Buf = binary.LittleEndian.AppendUint64(w.Buf, math.Float64bits(v))
		return
	}
	w.Buf = binary.BigEndian.AppendUint64(w.Buf, math.Float64bits(v))
}

func (w *Writer) length(n int) {
	if w.Compact {
		w.varint(uint64(n))
		return
	}
	w.Buf = binary.BigEndian.AppendUint32(w.Buf, uint32(n))
}

// Text appends a string.
func (w *Writer) Text(v string) {
	w.length(len(v))
	w.Buf = append(w.Buf, v...)
}

// Bytes appends bytes.
func (w *Writer) Bytes(v []byte) {
	if w.Armored {
		w.length(base64.StdEncoding.EncodedLen(len(v)))
		w.Buf = base64.StdEncoding.AppendEncode(w.Buf, v)
		return
	}
	w.raw(v)
}

// raw appends a string as it stands.
func (w *Writer) raw(v []byte) {
	w.length(len(v))
	w.Buf = append(w.Buf, v...)
}

// UUID appends a uuid.
func (w *Writer) UUID(v [16]byte) { w.Buf = append(w.Buf, v[:]...) }
