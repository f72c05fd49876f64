package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Reader reads values from a slice of bytes. After an error all that it reads is zero, and Err
// tells the error.
type Reader struct {
	Aux     any  // belongs to what reads by the reader, and is kept by Reset
	Armored bool // bytes that are no text stand in base64; Reset sets it to false

	b       []byte
	i       int
	compact bool
	flag    uint8 // the value of the bool field that was begun, in the compact protocol: 1 or 2
	last    int16
	depth   int
	stack   [MaxDepth + 1]int16
	room    int64 // bytes of memory that values may still take
	err     error
}

// Values may take so many bytes of memory, and so many more for each byte of the message.
const (
	roomLeast = 1 << 20
	roomEach  = 16
)

// Reset makes the reader read b.
func (r *Reader) Reset(b []byte, compact bool) {
	r.b, r.i, r.compact, r.flag, r.last, r.depth, r.err = b, 0, compact, 0, 0, 0, nil
	r.Armored = false
	r.room = roomLeast + roomEach*int64(len(b))
}

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Left is how many bytes are left.
func (r *Reader) Left() int { return len(r.b) - r.i }

// Fail notes an error, if there is none yet.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.i = len(r.b)
}

// Grow counts bytes of memory that a value takes.
func (r *Reader) Grow(n int64) {
	if r.room -= n; r.room < 0 {
		r.Fail(fmt.Errorf("thrift: the values of the message take more memory than %d bytes and %d for each of its bytes", roomLeast, roomEach))
	}
}

// Enter begins a struct or a container.
func (r *Reader) Enter() {
	if r.depth == MaxDepth {
		r.Fail(errDepth)
		return
	}
	r.depth++
	r.stack[r.depth] = r.last
	r.last = 0
}

// Leave ends a struct or a container.
func (r *Reader) Leave() {
	if r.err != nil || r.depth == 0 {
		return
	}
	r.last = r.stack[r.depth]
	r.depth--
}

// take returns the next n bytes.
func (r *Reader) take(n int) []byte {
	if n < 0 || n > len(r.b)-r.i {
		r.Fail(ErrShort)
		return nil
	}
	p := r.b[r.i : r.i+n : r.i+n]
	r.i += n
	return p
}

func (r *Reader) octet() byte {
	if r.i >= len(r.b) {
		r.Fail(ErrShort)
		return 0
	}
	c := r.b[r.i]
	r.i++
	return c
}

// varint reads an integer of up to bits bits.
func (r *Reader) varint(bits int) uint64 {
	b := r.b[r.i:]
	if len(b) > 3 { // most have up to three bytes
		switch {
		case b[0] < 0x80:
			r.i++
			return uint64(b[0])
		case b[1] < 0x80:
			r.i += 2
			return uint64(b[0]&0x7f) | uint64(b[1])<<7
		case b[2] < 0x80 && bits > 16:
			r.i += 3
			return uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7 | uint64(b[2])<<14
		}
	}
	v, n := binary.Uvarint(b)
	switch {
	case n == 0:
		r.Fail(ErrShort)
		return 0
	case n < 0 || bits < 64 && v>>bits != 0:
		r.Fail(errFlood)
		return 0
	}
	r.i += n
	return v
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// Field begins a field; Stop: the struct has no more.
func (r *Reader) Field() (t Type, id int16) {
	c := r.octet()
	if c == 0 {
		return Stop, 0
	}
	if !r.compact {
		if b := r.b[r.i:]; len(b) >= 2 {
			r.i += 2
			return Type(c), int16(b[0])<<8 | int16(b[1])
		}
		r.Fail(ErrShort)
		return Stop, 0
	}
	if d := c >> 4; d != 0 {
		id = r.last + int16(d)
	} else {
		id = int16(unzigzag(r.varint(16)))
	}
	if t = typeOfCompact(c); t == Stop {
		r.Fail(errType)
		return Stop, 0
	}
	if t == Bool {
		r.flag = c & 15
	}
	r.last = id
	return t, id
}

// count checks the number of elements against the bytes that are left.
func (r *Reader) count(n uint64, each int) int {
	if r.err != nil || n == 0 {
		return 0
	}
	if each == 0 {
		r.Fail(errType)
		return 0
	}
	if n > uint64(len(r.b)-r.i)/uint64(each) {
		r.Fail(fmt.Errorf("thrift: a container of %d elements, for which %d bytes are left", n, len(r.b)-r.i))
		return 0
	}
	return int(n)
}

// List begins a list or set.
func (r *Reader) List() (t Type, n int) {
	c := r.octet()
	var count uint64
	if r.compact {
		if t = typeOfCompact(c); c>>4 != 15 {
			count = uint64(c >> 4)
		} else {
			count = r.varint(31)
		}
	} else {
		t = Type(c)
		if p := r.take(4); p != nil {
			count = uint64(binary.BigEndian.Uint32(p))
		}
	}
	return t, r.count(count, least(r.compact, t))
}

// Map begins a map.
func (r *Reader) Map() (key, value Type, n int) {
	var count uint64
	if r.compact {
		if count = r.varint(31); count == 0 {
			return Stop, Stop, 0
		}
		c := r.octet()
		key, value = typeOfCompact(c>>4), typeOfCompact(c&15)
	} else if p := r.take(6); p != nil {
		key, value, count = Type(p[0]), Type(p[1]), uint64(binary.BigEndian.Uint32(p[2:]))
	}
	k, v := least(r.compact, key), least(r.compact, value)
	if k == 0 || v == 0 {
		k, v = 0, 0
	}
	return key, value, r.count(count, k+v)
}

// Bool reads a bool.
func (r *Reader) Bool() bool {
	if r.flag != 0 {
		v := r.flag == 1
		r.flag = 0
		return v
	}
	c := r.octet()
	if r.compact {
		return c == 1
	}
	return c != 0
}

// I8 reads an integer of 8 bits.
func (r *Reader) I8() int8 { return int8(r.octet()) }

// I16 reads an integer of 16 bits.
func (r *Reader) I16() int16 {
	if r.compact {
		return int16(unzigzag(r.varint(16)))
	}
	if p := r.take(2); p != nil {
		return int16(binary.BigEndian.Uint16(p))
	}
	return 0
}

// I32 reads an integer of 32 bits.
func (r *Reader) I32() int32 {
	if r.compact {
		return int32(unzigzag(r.varint(32)))
	}
	if b := r.b[r.i:]; len(b) >= 4 {
		r.i += 4
		return int32(binary.BigEndian.Uint32(b))
	}
	r.Fail(ErrShort)
	return 0
}

// I64 reads an integer of 64 bits.
func (r *Reader) I64() int64 {
	if r.compact {
		return unzigzag(r.varint(64))
	}
	if b := r.b[r.i:]; len(b) >= 8 {
		r.i += 8
		return int64(binary.BigEndian.Uint64(b))
	}
	r.Fail(ErrShort)
	return 0
}

// Int reads an integer of the type t; ok is false when t is none.
func (r *Reader) Int(t Type) (v int64, ok bool) {
	switch t {
	case I8:
		return int64(r.I8()), true
	case I16:
		return int64(r.I16()), true
	case I32:
		return int64(r.I32()), true
	case I64:
		return r.I64(), true
	}
	return 0, false
}

// Double reads a float64.
func (r *Reader) Double() float64 {
	p := r.take(8)
	switch {
	case p == nil:
		return 0
	case r.compact:
		return math.Float64frombits(binary.LittleEndian.Uint64(p))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(p))
}

// Text reads a string that is text.
func (r *Reader) Text() string { return string(raw(r)) }

// Bytes reads a string that is bytes; it may be part of what the reader reads.
func (r *Reader) Bytes() []byte {
	b := raw(r)
	if !r.Armored {
		return b
	}
	b = bytes.TrimRight(b, "=")
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(b)))
	n, err := base64.RawStdEncoding.Decode(out, b)
	if err != nil {
		r.Fail(errors.New("thrift: a binary value of the JSON protocol is no base64"))
		return nil
	}
	return out[:n]
}

// raw reads a string as it stands; it is part of what the reader reads.
func raw(r *Reader) []byte {
	if r.compact {
		return r.take(int(r.varint(31)))
	}
	p := r.take(4)
	if p == nil {
		return nil
	}
	n := binary.BigEndian.Uint32(p)
	if n > math.MaxInt32 {
		r.Fail(fmt.Errorf("thrift: a string of the length %d", int32(n)))
		return nil
	}
	return r.take(int(n))
}

// UUID reads a uuid.
func (r *Reader) UUID() (v [16]byte) {
	copy(v[:], r.take(16))
	return v
}

// Skip reads a value of the type t and drops it.
func (r *Reader) Skip(t Type) {
	switch t {
	case Bool:
		r.Bool()
	case I8, I16, I32, I64:
		r.Int(t)
	case Double:
		r.take(8)
	case UUID:
		r.take(16)
	case String:
		raw(r)
	case Struct:
		r.Enter()
		for r.err == nil {
			t, _ := r.Field()
			if t == Stop {
				break
			}
			r.Skip(t)
		}
		r.Leave()
	case Map:
		r.Enter()
		key, value, n := r.Map()
		for ; n > 0 && r.err == nil; n-- {
			r.Skip(key)
			r.Skip(value)
		}
		r.Leave()
	case Set, List:
		r.Enter()
		elem, n := r.List()
		if size := fixed(r.compact, elem); size > 0 {
			r.take(n * size)
			n = 0
		}
		for ; n > 0 && r.err == nil; n-- {
			r.Skip(elem)
		}
		r.Leave()
	default:
		r.Fail(errType)
	}
}
