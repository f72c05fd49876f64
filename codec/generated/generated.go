// Package generated has what the code of "weft generate -codec" calls: reading and writing
// the parts of Protocol Buffers messages. Programs have no other use for it.
//
// Generated code takes the fields of a body in the order of their numbers, which is how
// encoders write them. Where a body goes on in another way, it stops, and codec/protobuf
// goes on by the plan that it makes of the type. So generated code is only faster: what is
// decoded, and what is refused, is the same without it.
package generated

import (
	"encoding"
	"encoding/binary"
	"slices"
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
	"github.com/weftrpc/weft/codec/internal/wellknown"
)

// A Message is a pointer to a struct with generated code.
type Message interface {
	// FieldsWeft describes the fields for which the code was generated. For a struct that has
	// changed since, and for one that contains it, encoding and decoding return an error.
	FieldsWeft() string
	// AppendWeft appends the encoding. It returns false when it cannot encode the
	// message; the plan can, or says what is wrong.
	AppendWeft(b []byte, depth int) (_ []byte, ok bool)
	// DecodeWeft reads fields from i to end, and returns where it has stopped. Fields that
	// it has not read are zero, or empty. It returns -1 when depth is 0.
	DecodeWeft(r *Reader, i, end, depth int) int
}

// A Reader is a body that is decoded.
type Reader struct {
	Body  []byte
	Alias string // the same bytes, of which nothing may be kept
	Reuse bool   // the memory of the message is used again, and byte slices are those of Body
	Texts texts.Body
	Room  int64 // how many bytes the elements of lists and what pointers point to may still take; when it is negative, the code stops
}

// Make makes the message, or value that encodes itself, that p points to, unless there is one or no room for it.
func Make[T any](r *Reader, p **T) bool {
	if r.Room -= int64(memory.SizeOf[T]()); r.Room < 0 {
		return false
	}
	if *p == nil {
		*p = new(T)
	}
	return true
}

// Grow returns the list with room for n more elements, unless they would take too much memory.
func Grow[T any](r *Reader, list []T, n int) []T {
	if r.Room -= int64(n) * int64(memory.SizeOf[T]()); r.Room < 0 {
		return list
	}
	return slices.Grow(list, n)
}

// Empty returns the map without its entries, or nil where it has too many to be kept for the next message.
func Empty[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) > memory.KeptEntries {
		return nil
	}
	clear(m)
	return m
}

// Zero empties a field that does not travel.
func Zero[T any](p *T) { *p = *new(T) }

// Own returns a copy of a text that begins at from in Body, for a message that does not use memory again.
//
//go:noinline
func (r *Reader) Own(from int, text string) string {
	if room := r.Texts.Room(len(text)); room != nil {
		copy(room, text)
		return memory.String(room)
	}
	return r.Texts.String(r.Body, from, from+len(text))
}

// Load returns the eight bytes at s[i]. Where the caller knows that they are there, the compiler adds no check.
func Load(s string, i int) uint64 {
	t := s[i:]
	_ = t[7]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

// Word returns the eight bytes at b[i], with zeros where b has ended. In these no tag is found; but a varint that
// goes on there seems to end, and i to lie behind b.
func Word(b []byte, i int) uint64 {
	if i >= 0 && i <= len(b)-8 { // in this form the compiler adds no check of its own
		return binary.LittleEndian.Uint64(b[i:])
	}
	return lastWord(b, i)
}

//go:noinline
func lastWord(b []byte, i int) (x uint64) {
	if from := len(b) - 8; from >= 0 {
		return binary.LittleEndian.Uint64(b[from:]) >> (8 * (i - from))
	}
	for k := len(b) - 1; k >= i; k-- {
		x = x<<8 | uint64(b[k])
	}
	return x
}

// Short28 reads a varint of at most four bytes at the beginning of x; a longer one has n = 0.
func Short28(x uint32) (v uint32, n int) {
	v = x & 0x7f
	if x&0x80 == 0 {
		return v, 1
	}
	v |= x >> 1 & 0x3f80
	if x&0x8000 == 0 {
		return v, 2
	}
	v |= x >> 2 & 0x1fc000
	if x&0x800000 == 0 {
		return v, 3
	}
	if x&0x80000000 != 0 {
		return 0, 0
	}
	return v | x>>3&0xfe00000, 4
}

// Varint reads a varint at b[i]; next is -1 when there is none.
func Varint[B []byte | string](b B, i int) (v uint64, next int) {
	for shift := 0; i < len(b); shift += 7 {
		c := uint64(b[i])
		i++
		if shift == 63 && c > 1 {
			return 0, -1
		}
		if v |= c & 0x7f << shift; c < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// An Integer is any type of integers.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Int reads a varint at b[i] that T can hold; next is -1 when there is none.
func Int[T Integer](b []byte, i int) (v T, next int) {
	x, next := Varint(b, i)
	if v = T(x); next < 0 || uint64(v) != x {
		return 0, -1
	}
	return v, next
}

// behind returns where what has a tag begins, or -1 when that tag is not at s[i]. The tag has so many bytes, which are in word.
func behind(s string, i int, word uint32, width int) int {
	if i < 0 || len(s)-i <= width {
		return -1
	}
	for k := i; k < i+width; k++ {
		if s[k] != byte(word) {
			return -1
		}
		word >>= 8
	}
	return i + width
}

// IntField reads an integer behind its tag at s[i], and returns where it ends. When there is none that T can hold, v is 0, and i is
// returned. It stands apart, as others do that are for what is seldom: a call takes little room in generated code.
//
//go:noinline
func IntField[T Integer](s string, i int, word uint32, width int, v *T) (next int) {
	*v = 0
	at := behind(s, i, word, width)
	if at < 0 {
		return i
	}
	x, next := Varint(s, at)
	if next < 0 || uint64(T(x)) != x {
		return i
	}
	*v = T(x)
	return next
}

// BoolField is IntField for a bool.
//
//go:noinline
func BoolField[T ~bool](s string, i int, word uint32, width int, v *T) (next int) {
	*v = false
	at := behind(s, i, word, width)
	if at < 0 {
		return i
	}
	x, next := Varint(s, at)
	if next < 0 {
		return i
	}
	*v = x != 0
	return next
}

// TextField is IntField for a string.
//
//go:noinline
func TextField[T ~string](r *Reader, s string, i int, word uint32, width int, v *T) (next int) {
	*v = ""
	at := behind(s, i, word, width)
	if at < 0 {
		return i
	}
	text, next := r.Text(r.Body[:len(s)], at)
	if next < 0 {
		return i
	}
	*v = T(text)
	return next
}

// Zigzag is Int for the option "zigzag".
func Zigzag[T Integer](b []byte, i int) (v T, next int) {
	x, next := Varint(b, i)
	s := int64(x>>1) ^ -int64(x&1)
	if v = T(s); next < 0 || int64(v) != s {
		return 0, -1
	}
	return v, next
}

// Fixed32 reads four bytes at b[i]; next is -1 when there are fewer.
func Fixed32(b []byte, i int) (v uint32, next int) {
	if len(b)-i < 4 {
		return 0, -1
	}
	return binary.LittleEndian.Uint32(b[i:]), i + 4
}

// Fixed64 reads eight bytes at b[i]; next is -1 when there are fewer.
func Fixed64(b []byte, i int) (v uint64, next int) {
	if len(b)-i < 8 {
		return 0, -1
	}
	return binary.LittleEndian.Uint64(b[i:]), i + 8
}

// FixedInt is Fixed64 for an int or a uint, which has eight bytes on each machine; next is -1 also when it does not fit.
func FixedInt[T Integer](b []byte, i int) (v T, next int) {
	x, next := Fixed64(b, i)
	if v = T(x); uint64(v) != x {
		return 0, -1
	}
	return v, next
}

// Bool reads a bool at b[i]; next is -1 when there is none.
func Bool(b []byte, i int) (v bool, next int) {
	x, next := Varint(b, i)
	return x != 0, next
}

// Span reads a length at b[i] and returns where the bytes are; to is -1 when there are fewer.
func Span(b []byte, i int) (from, to int) {
	if i < len(b) && b[i] < 0x80 {
		from, to = i+1, i+1+int(b[i])
	} else {
		n, next := Varint(b, i)
		if next < 0 || n > uint64(len(b)-next) {
			return 0, -1
		}
		from, to = next, next+int(n)
	}
	if to > len(b) {
		return 0, -1
	}
	return from, to
}

// Text reads a string, whose length is at b[i]; next is -1 when there is none.
func (r *Reader) Text(b []byte, i int) (s string, next int) {
	from, to := Span(b, i)
	if to < 0 {
		return "", -1
	}
	return r.Texts.String(r.Body, from, to), to
}

// Bytes is Text for a []byte.
func (r *Reader) Bytes(b []byte, i int) (s []byte, next int) {
	from, to := Span(b, i)
	switch {
	case to < 0 || from == to:
		return nil, to
	case r.Reuse:
		return b[from:to:to], to
	}
	return r.Texts.Bytes(r.Body, from, to), to
}

// Zag returns the varint of v with the option "zigzag".
func Zag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// Count returns how many values with a tag follow one another from b[i] on.
func Count(b []byte, i int, tag string) int {
	n := 0
	for len(b)-i > len(tag) && string(b[i:i+len(tag)]) == tag {
		if _, i = Span(b, i+len(tag)); i < 0 {
			break
		}
		n++
	}
	return n
}

// Packed reads a packed list of numbers, each with read, behind those of list. Its length is
// at b[i]. Each number has size bytes; 0 means that they are varints. next is -1, and
// the list as it was, when there is none.
func Packed[T any](list []T, b []byte, i, size int, read func(b []byte, i int) (T, int)) (_ []T, next int) {
	from, to := Span(b, i)
	if to < 0 {
		return list, -1
	}
	was, count := len(list), 0
	if size > 0 {
		count = (to - from) / size
	} else {
		for _, c := range b[from:to] {
			count += int(c>>7 ^ 1)
		}
	}
	list = slices.Grow(list, count)
	for b = b[:to]; from < to; {
		v, j := read(b, from)
		if j < 0 {
			return list[:was], -1
		}
		list, from = append(list, v), j
	}
	return list, to
}

// Seconds reads the parts of a google.protobuf.Timestamp or Duration in b[from:to]; ok is
// false for all but the usual forms.
func Seconds(b []byte, from, to int) (seconds, nanoseconds int64, ok bool) {
	b = b[:to]
	i := from
	if i < to && b[i] == 1<<3 {
		var v uint64
		if v, i = Varint(b, i+1); i < 0 {
			return 0, 0, false
		}
		seconds = int64(v)
	}
	if i < to && b[i] == 2<<3 {
		var v uint64
		if v, i = Varint(b, i+1); i < 0 {
			return 0, 0, false
		}
		nanoseconds = int64(v)
	}
	return seconds, nanoseconds, i == to
}

// Time reads a time.Time, whose length is at b[i]; next is -1 when it is not usual.
func Time(b []byte, i int) (t time.Time, next int) {
	from, to := Span(b, i)
	if to < 0 {
		return t, -1
	}
	s, n, ok := Seconds(b, from, to)
	if !ok || s < -62135596800 || s > 253402300799 || n < 0 || n >= 1e9 {
		return t, -1
	}
	return time.Unix(s, n).UTC(), to
}

// Duration reads a time.Duration, whose length is at b[i]; next is -1 when it is not usual.
func Duration(b []byte, i int) (d time.Duration, next int) {
	from, to := Span(b, i)
	if to < 0 {
		return 0, -1
	}
	s, n, ok := Seconds(b, from, to)
	if !ok || s < 0 || s > 1<<31 || n < 0 || n >= 1e9 {
		return 0, -1
	}
	return time.Duration(s)*time.Second + time.Duration(n), to
}

// Room returns b up to its capacity, with at least n bytes behind its length.
func Room(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = grown(b, n)
	}
	return b[:cap(b)]
}

// grown stands apart, since what it does would be copied into generated code many times.
//
//go:noinline
func grown(b []byte, n int) []byte { return slices.Grow(b, n) }

// Short4 returns the varint of v, which is less than 1<<28, as it lies in memory, and its length.
func Short4(v uint32) (x uint64, n int) {
	if v < 1<<7 {
		return uint64(v), 1
	}
	x = uint64(v&0x7f | v<<1&0x7f00 | 0x80)
	if v < 1<<14 {
		return x, 2
	}
	x |= uint64(v<<2&0x7f0000 | 0x8000)
	if v < 1<<21 {
		return x, 3
	}
	return x | uint64(v<<3&0x7f000000|0x800000), 4
}

// PutVarint writes a tag at b[i], whose bytes are in word, of which it has width, and v behind it.
//
//go:noinline
func PutVarint(b []byte, i int, word uint64, width int, v uint64) int {
	binary.LittleEndian.PutUint64(b[i:], word)
	i += width
	return i + binary.PutUvarint(b[i:], v)
}

// AppendVarint appends v behind a tag, whose bytes are in word, of which it has width.
func AppendVarint(b []byte, word uint64, width int, v uint64) []byte {
	n := len(b) + width
	if v < 1<<28 && width <= 4 {
		x, k := Short4(uint32(v))
		return binary.LittleEndian.AppendUint64(b, word|x<<(8*width&63))[:n+k]
	}
	return binary.AppendUvarint(binary.LittleEndian.AppendUint64(b, word)[:n], v)
}

// AppendString appends a text behind a tag, as AppendVarint does a number.
//
//go:noinline
func AppendString[T ~string | ~[]byte](b []byte, word uint64, width int, s T) []byte {
	return append(AppendVarint(b, word, width, uint64(len(s))), s...)
}

// AppendSeconds appends the fields of a Timestamp or a Duration.
func AppendSeconds(b []byte, seconds, nanoseconds int64) []byte {
	if seconds != 0 {
		b = binary.AppendUvarint(append(b, 1<<3), uint64(seconds))
	}
	if nanoseconds != 0 {
		b = binary.AppendUvarint(append(b, 2<<3), uint64(nanoseconds))
	}
	return b
}

// AppendTime appends the fields of a Timestamp; ok is false when it cannot hold t.
func AppendTime(b []byte, t time.Time) (_ []byte, ok bool) {
	s := t.Unix()
	return AppendSeconds(b, s, int64(t.Nanosecond())), s >= -62135596800 && s <= 253402300799
}

// SetLength writes the length of what begins at body into the byte before it, and makes room
// for more bytes when it needs them.
func SetLength(b []byte, body int) []byte {
	size := len(b) - body
	if size < 128 {
		b[body-1] = byte(size)
		return b
	}
	var length [10]byte
	n := binary.PutUvarint(length[:], uint64(size))
	b = append(b, length[:n-1]...)
	copy(b[body+n-1:], b[body:body+size])
	copy(b[body-1:], length[:n])
	return b
}

// AppendWeft appends what v travels as; ok is false when it cannot.
func AppendWeft(b []byte, v interface {
	MarshalWeft(dst []byte) ([]byte, error)
}) (_ []byte, ok bool) {
	out, err := v.MarshalWeft(b)
	if err != nil || len(out) < len(b) {
		return b, false
	}
	return out, true
}

// AppendBinary is AppendWeft for a type with MarshalBinary.
func AppendBinary(b []byte, v encoding.BinaryMarshaler) (_ []byte, ok bool) {
	s, err := v.MarshalBinary()
	return append(b, s...), err == nil
}

// AppendText is AppendWeft for a struct with MarshalText.
func AppendText(b []byte, v encoding.TextMarshaler) (_ []byte, ok bool) {
	s, err := v.MarshalText()
	return append(b, s...), err == nil
}

// AppendAny is AppendWeft for an any. At most depth messages may be in one another there.
func AppendAny(b []byte, v any, depth int) (_ []byte, ok bool) {
	b, err := wellknown.AppendValue(b, v, depth)
	return b, err == nil
}

// ReadWeft reads what v, which is zero, travels as, whose length is at b[i]; next is -1 when it is none.
func ReadWeft(b []byte, i int, v interface{ UnmarshalWeft(b []byte) error }) (next int) {
	return read(b, i, v.UnmarshalWeft)
}

// ReadBinary is ReadWeft for a type with UnmarshalBinary.
func ReadBinary(b []byte, i int, v encoding.BinaryUnmarshaler) (next int) {
	return read(b, i, v.UnmarshalBinary)
}

// ReadText is ReadWeft for a struct with UnmarshalText.
func ReadText(b []byte, i int, v encoding.TextUnmarshaler) (next int) {
	return read(b, i, v.UnmarshalText)
}

func read(b []byte, i int, unmarshal func([]byte) error) (next int) {
	from, to := Span(b, i)
	if to < 0 || unmarshal(b[from:to:to]) != nil {
		return -1
	}
	return to
}

// Any reads an any, whose length is at b[i]; next is -1 when there is none, or no room for it.
func (r *Reader) Any(b []byte, i, depth int) (v any, next int) {
	from, to := Span(b, i)
	if to < 0 {
		return nil, -1
	}
	v, left, err := wellknown.Value(b[from:to], nil, depth, r.Room)
	if r.Room = left; err != nil {
		return nil, -1
	}
	return v, to
}

// Octets reads an array of bytes, whose length is at b[i]; next is -1 when there is none that fits.
func (r *Reader) Octets(b []byte, i int, v []byte) (next int) {
	from, to := Span(b, i)
	if to < 0 || to-from > len(v) {
		return -1
	}
	if r.Room -= int64(len(v)); r.Room < 0 {
		return -1
	}
	clear(v[copy(v, b[from:to]):])
	return to
}

// Begin empties an array that is read, unless there is no room for it.
func Begin[T any](r *Reader, p *T) bool {
	if r.Room -= int64(memory.SizeOf[T]()); r.Room < 0 {
		return false
	}
	*p = *new(T)
	return true
}
