package numbered

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/room"
	"github.com/weftrpc/weft/codec/internal/texts"
	"github.com/weftrpc/weft/codec/internal/wellknown"
	"github.com/weftrpc/weft/internal/trail"
)

// decoder reads one message. Its functions read body from an index on, at most up to an end, and return where they ended, or failed.
type decoder struct {
	body  []byte
	reuse bool // texts are those of body
	texts texts.Body
	cells memory.Cells
	room  int64 // bytes of memory that messages may still take
	full  bool  // they would take more
	err   error
}

// begin readies a decoder, which is zero, for a body of the message n. It fills in what the variable has: to copy a decoder would wait
// for what was just written.
func (d *decoder) begin(n *node, body []byte, reuse bool) {
	d.body, d.reuse, d.room = body, reuse, room.For(len(body))
	if reuse {
		d.texts.Share(body)
	} else {
		d.texts.Expect(n.frame)
	}
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

// span reads a length, and returns where the bytes are that it tells of; to is failed when there are fewer.
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

// message reads the fields from i to end into the struct r. With old, r may hold what an earlier message left; otherwise it is zero, or
// holds the fields of this message that have come so far.
func (d *decoder) message(n *node, r memory.Ref, i, end, depth int, old bool) int {
	if depth == 0 {
		return d.fail("at byte %d: messages nest deeper than %d", i, MaxDepth)
	}
	if old {
		old = n.begin(r)
	}
	// Encoders write the fields in the order of their numbers: next is the one that is expected. No field from high
	// on has come; with old they hold what was left, and the others do not.
	next, high := 0, 0
	for i < end {
		i, next = scan(n.steps, next, d.body, d.texts.Whole(end), i, end, r)
		if high = max(high, next); i == end {
			break
		}
		k, at, wire := next, failed, protowire.Type(0)
		if k < len(n.steps) {
			s := &n.steps[k]
			if uint32(generated.Word(d.body, i))&s.mask == s.word && i+int(s.width) <= end {
				if to := r.Field(s.at); s.kind >= kindOptBool && to.IsNil() {
					d.allocate(n.fields[k].node.elem, to, end-i)
					continue
				}
				at, wire = i+int(s.width), protowire.Type(n.fields[k].first&7)
			}
		}
		if at < 0 {
			var tag uint64
			if tag, at = d.varint(i, end); at < 0 {
				return failed
			}
			k, wire = n.find(tag>>3), protowire.Type(tag&7)
			if k < 0 || n.stock != nil && tag != n.fields[k].first && !n.fields[k].takes(wire) {
				if i = d.unknown(n, r, tag, i, at, end); i < 0 {
					return failed
				}
				continue
			}
			if k != next && n.steps[k].kind.quick() && tag == n.fields[k].first { // scan goes on behind fields that have not come
				if old && k > high {
					n.reset(r, high, k)
				}
				next, high = k, max(high, k)
				continue
			}
		}
		first := k >= high
		if first {
			if old {
				n.reset(r, high, k)
			}
			high = k + 1
		}
		next = k + 1
		f := &n.fields[k]
		if i = d.field(f, r.Field(f.at), wire, at, end, depth, old && first); i < 0 {
			if !d.full { // which is not about one field
				d.err = trail.In(f.name, d.err)
			}
			return failed
		}
	}
	if old {
		n.reset(r, high, len(n.fields))
	}
	return i
}

// scan reads fields into the struct r, as long as the next one of steps follows, in the form that encoders write. It returns where it has
// stopped, at most at end, and before which step. Texts are parts of whole. It calls nothing, so that its variables stay in registers.
func scan(steps []step, next int, body []byte, whole string, i, end int, r memory.Ref) (at, k int) {
	for ; next < len(steps); next++ {
		s := &steps[next]
		var x uint64
		if i >= 0 && i <= len(body)-8 { // in this form the compiler adds no check of its own
			x = binary.LittleEndian.Uint64(body[i:])
		} else if len(body) >= 8 {
			x = binary.LittleEndian.Uint64(body[len(body)-8:]) >> (8 * (8 - len(body) + i))
		} else {
			break
		}
		if uint32(x)&s.mask != s.word {
			break
		}
		x >>= s.shift & 63
		j, to, form := i+int(s.width), r.Field(s.at), s.kind
		if form >= kindOptBool {
			if to.IsNil() {
				break
			}
			to, form = to.Pointee(), form-(kindOptBool-kindBool)
		}
		switch form {
		case kindInt32, kindUint32:
			v, width := generated.Short28(uint32(x))
			if j += width; width == 0 || j > end {
				return i, next
			}
			to.Set32(v)
		case kindText:
			from := j + 1
			if j = from + int(x&0x7f); x&0x80 != 0 {
				if x&0x8000 != 0 {
					return i, next
				}
				from++
				j += 1 + int(x>>1&0x3f80)
			}
			if j > len(whole) {
				return i, next
			}
			to.SetText(whole[from:j])
		case kindBool:
			if j++; x&0x80 != 0 || j > end {
				return i, next
			}
			to.SetBool(uint8(x) != 0)
		case kindInt64, kindUint64:
			v, width := generated.Short28(uint32(x))
			if j += width; width == 0 || j > end {
				return i, next
			}
			to.Set64(uint64(v))
		default:
			return i, next
		}
		i = j
	}
	return i, next
}

// find returns the index of the field with a number, or -1.
func (n *node) find(number uint64) int {
	if number < uint64(len(n.index.dense)) {
		return int(n.index.dense[number]) - 1
	}
	if k, ok := n.index.all[number]; ok {
		return k
	}
	return -1
}

// unknown goes over a field that no struct has, and returns where it ends. Generated messages keep it.
func (d *decoder) unknown(n *node, r memory.Ref, tag uint64, i, at, end int) int {
	next := d.skip(tag, i, at, end)
	if next >= 0 && n.stock != nil {
		kept := r.Field(n.stock.unknown)
		b := protowire.AppendVarint(kept.Bytes(), tag)
		kept.SetBytes(append(b, d.body[at:next]...))
	}
	return next
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

// field reads the value at i of a field, which r refers to. With old, r may hold what an earlier message left.
func (d *decoder) field(f *field, r memory.Ref, wire protowire.Type, i, end, depth int, old bool) int {
	n := f.node
	switch n.op {
	case opPointer:
		if n.elem.op.counted() && !d.spend(n.elem) {
			return failed
		}
		if r.IsNil() {
			old = false
			d.allocate(n.elem, r, end-i)
		}
		return d.single(n.elem, r.Pointee(), wire, i, end, depth, old)
	case opList:
		if old {
			r.SetLen(0)
		}
		if wire == protowire.BytesType && n.elem.packs() {
			return d.packed(n, r, i, end)
		}
		return d.elements(f, r, wire, i, end, depth)
	case opArray:
		return d.array(f, r, wire, i, end, depth)
	case opTable:
		if old {
			memory.Empty(r.Value(n.typ))
		}
		return d.entry(n, r, wire, i, end, depth)
	}
	return d.single(n, r, wire, i, end, depth, old)
}

// elements reads the value at i, which has no other in it, to the end of the list r, and those of the same field that follow it.
func (d *decoder) elements(f *field, r memory.Ref, wire protowire.Type, i, end, depth int) int {
	n, elem := f.node, f.node.elem
	if elem.op == opPointer {
		elem = elem.elem
	}
	for {
		k := r.Len()
		if elem.op.counted() && !d.spend(elem) {
			return failed
		}
		if k == r.Cap() {
			more := d.following(f.tag, wire, i, end)
			if (elem.op.counted() || elem.op == opOctets) && !d.affords(elem, more-1) {
				return failed
			}
			r.Value(n.typ).Grow(more)
		}
		r.SetLen(k + 1)
		at, old := r.Elem(k, n.elem.size), d.reuse
		if n.elem.op == opPointer {
			if old = old && !at.IsNil(); old {
				at = at.Pointee()
			} else {
				at = at.Allocate(elem.typ)
			}
		}
		i = d.single(elem, at, wire, i, end, depth, old)
		if i < 0 || wire != protowire.Type(f.first&7) || !startsWith(d.body[i:end], f.tag) {
			return i
		}
		i += len(f.tag)
	}
}

// allocate makes the pointer r point to a new variable of the type of n.
func (d *decoder) allocate(n *node, r memory.Ref, left int) {
	const most = 256
	switch {
	case n.packs():
		d.cells.Number(r, n.typ, n.size, min(most, 4*left))
	case n.op == opText:
		d.cells.Text(r, n.typ, min(most/16, left/8))
	default:
		r.Allocate(n.typ)
	}
}

func startsWith(b []byte, tag string) bool {
	return len(b) >= len(tag) && string(b[:len(tag)]) == tag
}

// following returns how many values with a tag stand behind one another, from i on.
func (d *decoder) following(tag string, wire protowire.Type, i, end int) int {
	count := 1
	for wire == protowire.BytesType {
		_, n := protowire.ConsumeBytes(d.body[i:end])
		if n < 0 || !startsWith(d.body[i+n:end], tag) {
			break
		}
		i += n + len(tag)
		count++
	}
	return count
}

// single reads one value.
func (d *decoder) single(n *node, r memory.Ref, wire protowire.Type, i, end, depth int, old bool) int {
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
		if n.strict && !utf8.Valid(d.body[from:to]) {
			return d.fail("at byte %d: a string is not UTF-8", from)
		}
		r.SetText(d.texts.String(d.body, from, to))
	case opBytes:
		switch {
		case from == to && n.explicit:
			r.SetBytes([]byte{})
		case from == to:
			r.SetBytes(nil)
		case d.reuse:
			r.SetBytes(d.body[from:to:to])
		default:
			r.SetBytes(d.texts.Bytes(d.body, from, to))
		}
	case opMessage:
		return d.message(n, r, from, to, depth-1, old)
	default:
		return d.special(n, r, from, to, depth, old)
	}
	return to
}

// special is single for the types that are neither numbers, texts nor structs. With old, r may hold what an earlier message left.
func (d *decoder) special(n *node, r memory.Ref, from, to, depth int, old bool) int {
	if old {
		n.empty(r)
	}
	var err error
	switch n.op {
	case opOctets:
		octets := r.Value(n.typ).Bytes()
		switch {
		case to-from > len(octets):
			return d.fail("at byte %d: %d bytes do not fit a %s", from, to-from, n.typ)
		case !d.spend(n):
			return failed
		}
		clear(octets[copy(octets, d.body[from:to]):])
	case opOwn:
		v := r.Value(n.typ)
		v.SetZero()
		err = n.own.Set(v.Addr().Interface(), d.body[from:to:to])
	case opAny:
		var v any
		if v, d.room, err = wellknown.Value(d.body[from:to], r.Any(), depth-1, d.room); d.room < 0 {
			d.refuse()
			return failed
		}
		r.SetAny(v)
	case opTime:
		at := memory.As[time.Time](r)
		*at, err = wellknown.Time(d.body[from:to], *at)
	default:
		took := memory.As[time.Duration](r)
		*took, err = wellknown.Duration(d.body[from:to], *took)
	}
	if err != nil {
		return d.fail("at byte %d: %w", from, err)
	}
	return to
}

// array reads the value at i, which has no other in it, to the array r, from its beginning on, and those that follow it: an array is
// one value, so that what comes later replaces what came before.
func (d *decoder) array(f *field, r memory.Ref, wire protowire.Type, i, end, depth int) int {
	n, elem, length := f.node, f.node.elem, f.node.typ.Len()
	if !d.spend(n) {
		return failed
	}
	r.Value(n.typ).SetZero()
	if elem.op == opPointer {
		elem = elem.elem
	}
	packed := wire == protowire.BytesType && elem.packs()
	if packed {
		if i, end = d.span(i, end); end < 0 {
			return failed
		}
	}
	for k := 0; !packed || i < end; k++ {
		if k == length {
			return d.fail("at byte %d: more than %d elements do not fit a %s", i, k, n.typ)
		}
		at := r.Index(k, n.elem.size)
		switch {
		case packed:
			v, next := d.number(elem, i, end)
			if i = next; next >= 0 {
				i = d.set(elem, at, v, i, next)
			}
		case n.elem.op == opPointer && !d.spend(elem):
			return failed
		case n.elem.op == opPointer:
			i = d.single(elem, at.Allocate(elem.typ), wire, i, end, depth, false)
		default:
			i = d.single(elem, at, wire, i, end, depth, false)
		}
		if i < 0 {
			return failed
		}
		if !packed {
			tag, next := generated.Varint(d.body[:end], i)
			if next < 0 || tag != f.number<<3|uint64(wire) {
				return i
			}
			i = next
		}
	}
	return i
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
		if n.wraps && n.bits == 32 {
			v = uint64(uint32(v))
		}
		v = uint64(protowire.DecodeZigZag(v))
	}
	unused := 64 - 8*n.size
	switch s := int64(v); {
	case n.op == opFixed && n.bits == 8*int(n.size) || n.wraps:
	case n.unsigned && v<<unused>>unused != v:
		return d.fail("at byte %d: %d does not fit a %s", i, v, n.typ)
	case !n.unsigned && s<<unused>>unused != s:
		return d.fail("at byte %d: %d does not fit a %s", i, s, n.typ)
	}
	switch n.size {
	case 1:
		r.Set8(uint8(v))
	case 2:
		r.Set16(uint16(v))
	case 4:
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
	k := r.Len()
	if k+count > r.Cap() {
		r.Value(n.typ).Grow(count)
	}
	if count > 0 {
		r.SetLen(k + count)
	}
	for ; i < to; k++ {
		if k == r.Len() {
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
	stock := n.wraps // as in generated code
	if stock {
		if depth--; depth == 0 {
			return d.fail("at byte %d: messages nest deeper than %d", i, MaxDepth)
		}
	}
	i, to := d.span(i, end)
	if to < 0 || !d.spendEntry(n, r.Value(n.typ).Len()) {
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
		wire := protowire.Type(tag & 7)
		switch {
		case tag>>3 == 1 && (!stock || wire == n.key.wire()):
			i = d.single(n.key, memory.Of(key), wire, next, to, depth, false)
		case tag>>3 == 2 && (!stock || wire == elem.wire()):
			i = d.single(elem, at, wire, next, to, depth, false)
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
