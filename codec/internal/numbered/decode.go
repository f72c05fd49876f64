package numbered

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/texts"
)

// decoder reads one message. Its functions read body from an index on, at most up
// to an end, and return where they ended, or failed.
type decoder struct {
	body  []byte
	texts texts.Pieces
	err   error
}

// failed is what functions return in place of an index after an error.
const failed = -1

func (d *decoder) fail(format string, args ...any) int {
	d.err = fmt.Errorf(format, args...)
	return failed
}

func (d *decoder) short(i int) int { return d.fail("at byte %d: body ends within a value", i) }

// varint reads a varint.
func (d *decoder) varint(i, end int) (v uint64, next int) {
	if i < end && d.body[i] < 0x80 {
		return uint64(d.body[i]), i + 1
	}
	if i+2 < end {
		b := d.body[i : i+3 : i+3]
		switch {
		case b[1] < 0x80:
			return uint64(b[0]&0x7f) | uint64(b[1])<<7, i + 2
		case b[2] < 0x80:
			return uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7 | uint64(b[2])<<14, i + 3
		}
	}
	v, n := protowire.ConsumeVarint(d.body[i:end])
	if n < 0 {
		return 0, d.fail("at byte %d: no varint", i)
	}
	return v, i + n
}

// span reads a length, and returns where the bytes are that it tells of; to is
// failed when there are fewer.
func (d *decoder) span(i, end int) (from, to int) {
	n, from := d.varint(i, end)
	if from < 0 {
		return 0, failed
	}
	if n > uint64(end-from) {
		return 0, d.short(i)
	}
	return from, from + int(n)
}

// message reads the fields from i to end into the struct r.
func (d *decoder) message(n *node, r memory.Ref, i, end, depth int) int {
	if depth == 0 {
		return d.fail("at byte %d: messages nest deeper than %d", i, MaxDepth)
	}
	for i < end {
		tag, at := d.varint(i, end)
		if at < 0 {
			return failed
		}
		f := n.field(tag >> 3)
		switch {
		case f == nil:
			i = d.skip(tag, i, at, end)
			if i < 0 {
				return failed
			}
			continue
		case tag == f.first && f.op <= opText:
			i = d.common(f, r.Field(f.at), at, end)
		default:
			i = d.field(f, r.Field(f.at), protowire.Type(tag&7), at, end, depth)
		}
		if i < 0 {
			d.err = fmt.Errorf("%s: %w", f.name, d.err)
			return failed
		}
	}
	return i
}

// common reads the value of a number or a string, of the wire type of its field.
func (d *decoder) common(f *field, r memory.Ref, i, end int) int {
	switch f.op {
	case opText:
		from, to := d.span(i, end)
		if to >= 0 {
			r.SetText(d.texts.String(d.body[from:to], len(d.body)-from))
		}
		return to
	case opInt:
		v, next := d.varint(i, end)
		switch {
		case next < 0:
			return failed
		case f.bits == 64:
			r.Set64(v)
			return next
		case f.bits == 32 && int64(v) == int64(int32(v)):
			r.Set32(uint32(v))
			return next
		}
	}
	v, next := d.number(f.node, i, end)
	if next >= 0 {
		next = d.set(f.node, r, v, i, next)
	}
	return next
}

// field returns the field with a number, or nil.
func (n *node) field(number uint64) *field {
	if number < uint64(len(n.dense)) {
		if k := n.dense[number]; k > 0 {
			return &n.fields[k-1]
		}
		return nil
	}
	if k, ok := n.index[number]; ok {
		return &n.fields[k]
	}
	return nil
}

// skip returns where the field that no struct has ends.
func (d *decoder) skip(tag uint64, i, at, end int) int {
	number, wire := protowire.DecodeTag(tag)
	if number < protowire.MinValidNumber || number > protowire.MaxValidNumber {
		return d.fail("at byte %d: no field has the number %d", i, tag>>3)
	}
	n := protowire.ConsumeFieldValue(number, wire, d.body[at:end])
	if n < 0 {
		return d.fail("at byte %d: %w", i, protowire.ParseError(n))
	}
	return at + n
}

// field reads the value at i of a field, which r refers to.
func (d *decoder) field(f *field, r memory.Ref, wire protowire.Type, i, end, depth int) int {
	n := f.node
	switch n.op {
	case opPointer:
		if r.IsNil() {
			r.Allocate(n.elem.typ)
		}
		return d.single(n.elem, r.Pointee(), wire, i, end, depth)
	case opList:
		if wire == protowire.BytesType && n.elem.packs() {
			return d.packed(n, r, i, end)
		}
		s := r.Value(n.typ)
		k := s.Len()
		if k == s.Cap() {
			s.Grow(d.following(f.tag, wire, i, end))
		}
		s.SetLen(k + 1)
		at, elem := r.Elem(k, n.elem.size), n.elem
		if elem.op == opPointer {
			at, elem = at.Allocate(elem.elem.typ), elem.elem
		}
		return d.single(elem, at, wire, i, end, depth)
	case opTable:
		return d.entry(n, r, wire, i, end, depth)
	}
	return d.single(n, r, wire, i, end, depth)
}

// following returns how many values with a tag stand behind one another, from i on.
func (d *decoder) following(tag string, wire protowire.Type, i, end int) int {
	count := 1
	for wire == protowire.BytesType {
		_, n := protowire.ConsumeBytes(d.body[i:end])
		if n < 0 || !bytes.HasPrefix(d.body[i+n:end], []byte(tag)) {
			break
		}
		i += n + len(tag)
		count++
	}
	return count
}

// single reads one value.
func (d *decoder) single(n *node, r memory.Ref, wire protowire.Type, i, end, depth int) int {
	if wire != n.wire() {
		return d.fail("at byte %d: a value of wire type %d does not fit a %s", i, wire, n.typ)
	}
	if n.packs() {
		v, next := d.number(n, i, end)
		if next >= 0 {
			next = d.set(n, r, v, i, next)
		}
		return next
	}
	from, to := d.span(i, end)
	if to < 0 {
		return failed
	}
	switch n.op {
	case opText:
		r.SetText(d.texts.String(d.body[from:to], len(d.body)-from))
	case opBytes:
		r.SetBytes(nil)
		if to > from {
			r.SetBytes(d.texts.Bytes(d.body[from:to], len(d.body)-from))
		}
	case opMessage:
		return d.message(n, r, from, to, depth-1)
	default:
		return d.seconds(n, r, from, to)
	}
	return to
}

// number reads a number as it is encoded.
func (d *decoder) number(n *node, i, end int) (v uint64, next int) {
	switch {
	case n.op != opFixed && n.op != opFloat:
		return d.varint(i, end)
	case end-i < n.bits/8:
		return 0, d.short(i)
	case n.bits == 32:
		return uint64(binary.LittleEndian.Uint32(d.body[i:])), i + 4
	}
	return binary.LittleEndian.Uint64(d.body[i:]), i + 8
}

// set sets the number r to v, which was read at i, unless r cannot hold it.
func (d *decoder) set(n *node, r memory.Ref, v uint64, i, next int) int {
	switch n.op {
	case opBool:
		r.SetBool(v != 0)
		return next
	case opFloat:
		if n.bits == 32 {
			r.SetFloat32(math.Float32frombits(uint32(v)))
		} else {
			r.SetFloat64(math.Float64frombits(v))
		}
		return next
	case opZigzag:
		v = uint64(protowire.DecodeZigZag(v))
	}
	unused := 64 - n.bits
	switch s := int64(v); {
	case n.op == opFixed:
	case n.unsigned && v<<unused>>unused != v:
		return d.fail("at byte %d: %d does not fit a %s", i, v, n.typ)
	case !n.unsigned && s<<unused>>unused != s:
		return d.fail("at byte %d: %d does not fit a %s", i, s, n.typ)
	}
	switch n.bits {
	case 8:
		r.Set8(uint8(v))
	case 16:
		r.Set16(uint16(v))
	case 32:
		r.Set32(uint32(v))
	default:
		r.Set64(v)
	}
	return next
}

// packed reads a list of numbers that are one value, behind those that are there.
func (d *decoder) packed(n *node, r memory.Ref, i, end int) int {
	i, to := d.span(i, end)
	if to < 0 {
		return failed
	}
	count := 0
	switch n.elem.wire() {
	case protowire.Fixed32Type:
		count = (to - i) / 4
	case protowire.Fixed64Type:
		count = (to - i) / 8
	default:
		for _, c := range d.body[i:to] {
			if c < 0x80 {
				count++
			}
		}
	}
	s := r.Value(n.typ)
	k := s.Len()
	s.Grow(count)
	s.SetLen(k + count)
	for ; i < to; k++ {
		if k == s.Len() {
			return d.short(i)
		}
		v, next := d.number(n.elem, i, to)
		if next < 0 {
			return failed
		}
		if i = d.set(n.elem, r.Elem(k, n.elem.size), v, i, next); i < 0 {
			return failed
		}
	}
	return i
}

// entry reads an entry of a map.
func (d *decoder) entry(n *node, r memory.Ref, wire protowire.Type, i, end, depth int) int {
	if wire != protowire.BytesType {
		return d.fail("at byte %d: a value of wire type %d does not fit a %s", i, wire, n.typ)
	}
	i, to := d.span(i, end)
	if to < 0 {
		return failed
	}
	key, value := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	at, elem := memory.Of(value), n.elem
	if elem.op == opPointer {
		at, elem = at.Allocate(elem.elem.typ), elem.elem
	}
	for i < to {
		tag, next := d.varint(i, to)
		if next < 0 {
			return failed
		}
		switch tag >> 3 {
		case 1:
			i = d.single(n.key, memory.Of(key), protowire.Type(tag&7), next, to, depth)
		case 2:
			i = d.single(elem, at, protowire.Type(tag&7), next, to, depth)
		default:
			i = d.skip(tag, i, next, to)
		}
		if i < 0 {
			return failed
		}
	}
	m := r.Value(n.typ)
	if m.IsNil() {
		m.Set(reflect.MakeMap(n.typ))
	}
	m.SetMapIndex(key.Elem(), value.Elem())
	return i
}

// seconds reads a google.protobuf.Timestamp or Duration.
func (d *decoder) seconds(n *node, r memory.Ref, i, to int) int {
	var parts [3]int64
	start := i
	for i < to {
		tag, next := d.varint(i, to)
		if next < 0 {
			return failed
		}
		if tag != 1<<3 && tag != 2<<3 {
			if i = d.skip(tag, i, next, to); i < 0 {
				return failed
			}
			continue
		}
		v, next := d.varint(next, to)
		if next < 0 {
			return failed
		}
		parts[tag>>3], i = int64(v), next
	}
	seconds, nanoseconds := parts[1], parts[2]
	if n.op == opTime {
		if seconds < firstSecond || seconds > lastSecond || nanoseconds < 0 || nanoseconds >= 1e9 {
			return d.fail("at byte %d: %d s and %d ns are no timestamp", start, seconds, nanoseconds)
		}
		*memory.As[time.Time](r) = time.Unix(seconds, nanoseconds).UTC()
		return i
	}
	const most = math.MaxInt64 / int64(time.Second)
	v := seconds*1e9 + nanoseconds
	if seconds > most || seconds < -most || nanoseconds <= -1e9 || nanoseconds >= 1e9 || nanoseconds > 0 != (v > seconds*1e9) && nanoseconds != 0 {
		return d.fail("at byte %d: %d s and %d ns do not fit a time.Duration", start, seconds, nanoseconds)
	}
	r.Set64(uint64(v))
	return i
}
