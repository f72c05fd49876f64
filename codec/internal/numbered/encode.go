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
	"github.com/weftrpc/weft/codec/internal/wellknown"
	"github.com/weftrpc/weft/internal/trail"
)

// encoder appends messages. After an error what it appends means nothing.
type encoder struct{ err error }

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// tooDeep returns b.
func (e *encoder) tooDeep(b []byte) []byte {
	e.fail("messages nest deeper than %d: the value may contain itself", MaxDepth)
	return b
}

// message appends the fields of the struct r. At most depth messages may be in one another there.
func (e *encoder) message(n *node, dst []byte, r memory.Ref, depth int) []byte {
	if depth == 0 {
		return e.tooDeep(dst)
	}
	// In b there is always room for all fields that follow; see step.room.
	b, i := generated.Room(dst, n.need), len(dst)
	for k := 0; ; k++ {
		var more int
		i, more = run(n.steps[k:], b, i, r)
		if k += more; k == len(n.steps) {
			break
		}
		out := e.field(n, k, b[:i], r, depth)
		if e.err != nil {
			e.err = trail.In(n.fields[k].name, e.err)
			return out
		}
		b, i = generated.Room(out, n.steps[k].room), len(out)
	}
	if n.stock != nil {
		return append(b[:i], r.Field(n.stock.unknown).Bytes()...)
	}
	return b[:i]
}

// run writes fields of the struct r at b[i], as long as they are of the kinds that most are, and there is room for
// a text. It returns where it has stopped and before which step. It calls nothing, so that its variables stay in registers.
func run(steps []step, b []byte, i int, r memory.Ref) (at, k int) {
	for k := range steps {
		s := &steps[k]
		to, form, present := r.Field(s.at), s.kind, false
		if form >= kindOptBool {
			if to.IsNil() {
				continue
			}
			to, form, present = to.Pointee(), form-(kindOptBool-kindBool), true
		}
		var v uint64
		switch form {
		case kindInt32:
			v = uint64(int64(to.Int32()))
		case kindText:
			text := to.Text()
			n := len(text)
			if n == 0 && !present {
				continue
			}
			if n >= 128 || len(b)-i < n+s.room {
				return i, k
			}
			binary.LittleEndian.PutUint64(b[i:], uint64(s.word)|uint64(n)<<(s.shift&63))
			i += int(s.width) + 1
			i += copy(b[i:], text)
			continue
		case kindBool:
			if to.Bool() {
				v = 1
			}
		case kindInt64:
			v = uint64(to.Int64())
		case kindUint32:
			v = uint64(to.Uint32())
		case kindUint64:
			v = to.Uint64()
		default:
			if form == kindList && to.Len() == 0 || form == kindNil && to.IsNil() {
				continue
			}
			return i, k
		}
		if v == 0 && !present {
			continue
		}
		if v < 1<<28 {
			x, width := generated.Short4(uint32(v))
			binary.LittleEndian.PutUint64(b[i:], uint64(s.word)|x<<(s.shift&63))
			i += int(s.width) + width
			continue
		}
		binary.LittleEndian.PutUint32(b[i:], s.word)
		for i += int(s.width); v >= 0x80; v >>= 7 {
			b[i] = byte(v) | 0x80
			i++
		}
		b[i] = byte(v)
		i++
	}
	return i, len(steps)
}

// field appends a field that run does not.
func (e *encoder) field(n *node, k int, b []byte, r memory.Ref, depth int) []byte {
	f := &n.fields[k]
	at := r.Field(f.at)
	switch f.op {
	case opPointer:
		if at.IsNil() {
			return b
		}
		return e.single(f.tag, f.node.elem, b, at.Pointee(), depth, true)
	case opList, opArray:
		return e.list(f, b, at, depth)
	case opTable:
		if at.IsNil() {
			return b
		}
		return e.table(f, b, at, depth)
	}
	return e.single(f.tag, f.node, b, at, depth, f.node.explicit && !at.IsNil())
}

// single appends one value with its tag, unless it is zero and need not be there.
func (e *encoder) single(tag string, n *node, b []byte, r memory.Ref, depth int, present bool) []byte {
	switch n.op {
	case opText:
		if s := r.Text(); s != "" || present {
			if n.strict && !utf8.ValidString(s) {
				e.fail("a string is not UTF-8")
			}
			b = protowire.AppendString(append(b, tag...), s)
		}
		return b
	case opBytes:
		if s := r.Bytes(); len(s) > 0 || present {
			b = protowire.AppendBytes(append(b, tag...), s)
		}
		return b
	case opOctets:
		return protowire.AppendBytes(append(b, tag...), r.Value(n.typ).Bytes())
	case opAny:
		if r.Any() == nil && !present {
			return b
		}
		start := len(b) + len(tag) + 1
		b, err := wellknown.AppendValue(append(append(b, tag...), 0), r.Any(), depth-1)
		if err != nil {
			e.err = err
			return b
		}
		return generated.SetLength(b, start)
	case opMessage, opTime, opDuration, opOwn:
		if n.op == opTime && !present {
			if memory.As[time.Time](r).IsZero() {
				return b
			}
			present = true // 1970 has no fields, either
		}
		start := len(b)
		b = append(append(b, tag...), 0)
		body := len(b)
		switch n.op {
		case opMessage:
			b = e.message(n, b, r, depth-1)
		case opTime:
			b = e.time(b, *memory.As[time.Time](r))
		case opOwn:
			var err error
			if b, err = n.own.Append(b, r.Value(n.typ).Addr().Interface()); err != nil {
				e.fail("%w", err)
			}
		default:
			b = generated.AppendSeconds(b, r.Int64()/1e9, r.Int64()%1e9)
		}
		if len(b) == body && !present {
			return b[:start]
		}
		return generated.SetLength(b, body)
	}
	v := n.number(r)
	if v == 0 && !present {
		return b
	}
	return n.appendNumber(append(b, tag...), v)
}

// number returns the number r as it is encoded.
func (n *node) number(r memory.Ref) uint64 {
	switch n.op {
	case opBool:
		if r.Bool() {
			return 1
		}
		return 0
	case opFloat:
		if n.bits == 32 {
			return uint64(math.Float32bits(r.Float32()))
		}
		return math.Float64bits(r.Float64())
	}
	if n.unsigned {
		switch n.size {
		case 1:
			return uint64(r.Uint8())
		case 2:
			return uint64(r.Uint16())
		case 4:
			return uint64(r.Uint32())
		}
		return r.Uint64()
	}
	var v int64
	switch n.size {
	case 1:
		v = int64(r.Int8())
	case 2:
		v = int64(r.Int16())
	case 4:
		v = int64(r.Int32())
	default:
		v = r.Int64()
	}
	if n.op == opZigzag {
		return protowire.EncodeZigZag(v)
	}
	return uint64(v)
}

// appendNumber appends v, which number returned.
func (n *node) appendNumber(b []byte, v uint64) []byte {
	switch {
	case n.op != opFixed && n.op != opFloat:
		return protowire.AppendVarint(b, v)
	case n.bits == 32:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}

func (e *encoder) list(f *field, b []byte, r memory.Ref, depth int) []byte {
	n, length := f.node.elem, 0
	if f.node.op == opList {
		length = r.Len()
	} else {
		length = f.node.typ.Len()
	}
	if length == 0 {
		return b
	}
	if n.packs() && f.node.unpacked {
		for k := range length {
			b = n.appendNumber(append(b, f.tag...), n.number(f.node.at(r, k)))
		}
		return b
	}
	if n.packs() {
		b = append(append(b, f.tag...), 0)
		body := len(b)
		for k := range length {
			b = n.appendNumber(b, n.number(f.node.at(r, k)))
		}
		return generated.SetLength(b, body)
	}
	for k := 0; k < length && e.err == nil; k++ {
		at, elem := f.node.at(r, k), n
		if n.op == opPointer {
			if at.IsNil() && n.elem.stock != nil {
				if depth == 1 {
					return e.tooDeep(b)
				}
				b = append(append(b, f.tag...), 0)
				continue
			}
			if at.IsNil() {
				e.fail("element %d is nil, which Protocol Buffers cannot tell from an empty message", k)
				return b
			}
			at, elem = at.Pointee(), n.elem
		}
		b = e.single(f.tag, elem, b, at, depth, true)
	}
	return b
}

// at returns element k of a list or an array.
func (n *node) at(r memory.Ref, k int) memory.Ref {
	if n.op == opArray {
		return r.Index(k, n.elem.size)
	}
	return r.Elem(k, n.elem.size)
}

// The tags of the two fields of an entry of a map.
func (n *node) entryTag(number protowire.Number) string {
	return string(rune(protowire.EncodeTag(number, n.wire())))
}

func (e *encoder) table(f *field, b []byte, r memory.Ref, depth int) []byte {
	n := f.node
	if n.wraps { // an entry is a message, as for the decoder
		depth--
	}
	key, value := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	for entries := r.Value(n.typ).MapRange(); entries.Next() && e.err == nil; {
		if depth == 0 {
			return e.tooDeep(b)
		}
		key.Elem().SetIterKey(entries)
		value.Elem().SetIterValue(entries)
		b = append(append(b, f.tag...), 0)
		body := len(b)
		b = e.single(n.key.entryTag(1), n.key, b, memory.Of(key), depth, true)
		at, elem := memory.Of(value), n.elem
		if elem.op == opPointer {
			if at.IsNil() && elem.elem.stock != nil {
				if depth == 1 {
					return e.tooDeep(b)
				}
				b = generated.SetLength(append(append(b, elem.entryTag(2)...), 0), body)
				continue
			}
			if at.IsNil() {
				e.fail("the value of the key %v is nil, which Protocol Buffers cannot tell from an empty message", key.Elem())
				return b
			}
			at, elem = at.Pointee(), elem.elem
		}
		b = e.single(elem.entryTag(2), elem, b, at, depth, true)
		b = generated.SetLength(b, body)
	}
	return b
}

// time appends the fields of a google.protobuf.Timestamp.
func (e *encoder) time(b []byte, t time.Time) []byte {
	b, ok := generated.AppendTime(b, t)
	if !ok {
		e.fail("the year %d has no form in Protocol Buffers, which has 1 to 9999", t.Year())
	}
	return b
}
