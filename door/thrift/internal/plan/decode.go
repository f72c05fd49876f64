package plan

import (
	"encoding"
	"fmt"
	"math"
	"reflect"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/internal/bridge"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
	"github.com/weftrpc/weft/internal/trail"
)

// takes reports whether a value of the type t can be decoded. An integer may have any size.
func (n *Node) takes(t protocol.Type) bool {
	switch n.wire {
	case protocol.I8, protocol.I16, protocol.I32, protocol.I64:
		return t == protocol.I8 || t == protocol.I16 || t == protocol.I32 || t == protocol.I64
	case protocol.List, protocol.Set:
		return t == protocol.List || t == protocol.Set
	}
	return t == n.wire
}

// decode reads a value of the type t, which the node takes, into v, which is zero. Errors of the
// reader are noted there.
func (n *Node) decode(r *protocol.Reader, t protocol.Type, v reflect.Value) error {
	switch n.op {
	case opBool:
		v.SetBool(r.Bool())
	case opInt:
		x, _ := r.Int(t)
		if v.OverflowInt(x) {
			return fmt.Errorf("the number %d does not fit a %s", x, n.typ)
		}
		v.SetInt(x)
	case opUint:
		x, _ := r.Int(t)
		if x < 0 || v.OverflowUint(uint64(x)) {
			return fmt.Errorf("the number %d does not fit a %s", x, n.typ)
		}
		v.SetUint(uint64(x))
	case opFloat:
		x := r.Double()
		if v.Kind() == reflect.Float32 && v.OverflowFloat(x) && !math.IsInf(x, 0) {
			return fmt.Errorf("the number %v does not fit a %s", x, n.typ)
		}
		v.SetFloat(x)
	case opKey:
		v.SetString(string(r.Bytes()))
	case opText:
		v.SetString(r.Text())
	case opBytes:
		b := r.Bytes()
		v.SetBytes(append(make([]byte, 0, len(b)), b...))
	case opOctets:
		if b := r.Bytes(); len(b) == v.Len() {
			reflect.Copy(v, reflect.ValueOf(b))
		} else if r.Err() == nil {
			return fmt.Errorf("%d bytes came for a %s", len(b), n.typ)
		}
	case opUUID:
		id := r.UUID()
		reflect.Copy(v, reflect.ValueOf(id[:]))
	case opMarshal:
		if text := r.Text(); r.Err() == nil {
			return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		}
	case opStruct:
		return n.record.decode(r, v)
	case opForeign:
		return bridge.Read(r, v.Addr().Interface().(thrift.TStruct))
	case opPointer:
		r.Grow(int64(n.elem.typ.Size()))
		p := reflect.New(n.elem.typ)
		v.Set(p)
		return n.elem.decode(r, t, p.Elem())
	case opList:
		return n.decodeList(r, v)
	case opArray:
		return n.decodeArray(r, v)
	case opMap:
		return n.decodeMap(r, v)
	}
	return nil
}

// firstRoom is how many bytes a list gets before its elements are seen.
const firstRoom = 4 << 10

func (n *Node) decodeList(r *protocol.Reader, v reflect.Value) error {
	r.Enter()
	defer r.Leave()
	t, count := r.List()
	if r.Err() != nil {
		return nil
	}
	if count > 0 && !n.elem.takes(t) {
		return n.wrong(t)
	}
	if n.decodeScalars(r, t, count, v) {
		return nil
	}
	size := int(n.elem.typ.Size())
	room := min(count, max(firstRoom/max(size, 1), 1))
	r.Grow(int64(room) * int64(size))
	list := reflect.MakeSlice(n.typ, room, room)
	for i := range count {
		if i == room {
			more := min(2*room, count)
			r.Grow(int64(more) * int64(size))
			if r.Err() != nil {
				return nil
			}
			longer := reflect.MakeSlice(n.typ, more, more)
			reflect.Copy(longer, list)
			list, room = longer, more
		}
		if err := n.elem.decode(r, t, list.Index(i)); err != nil {
			return err
		}
		if r.Err() != nil {
			return nil
		}
	}
	v.Set(list)
	return nil
}

// wrong is the error of a container whose elements have another type.
func (n *Node) wrong(t protocol.Type) error {
	return fmt.Errorf("elements of the type %s came for a %s", t, n.typ)
}

func (n *Node) decodeArray(r *protocol.Reader, v reflect.Value) error {
	r.Enter()
	defer r.Leave()
	t, count := r.List()
	switch {
	case r.Err() != nil:
		return nil
	case count > 0 && !n.elem.takes(t):
		return n.wrong(t)
	case count != v.Len():
		return fmt.Errorf("%d elements came for a %s", count, n.typ)
	}
	for i := range count {
		if err := n.elem.decode(r, t, v.Index(i)); err != nil || r.Err() != nil {
			return err
		}
	}
	return nil
}

// mapRoom is how many bytes an entry of a map takes beside its key and value.
const mapRoom = 16

func (n *Node) decodeMap(r *protocol.Reader, v reflect.Value) error {
	r.Enter()
	defer r.Leave()
	var k, t protocol.Type
	var count int
	each := int64(n.typ.Key().Size() + n.typ.Elem().Size() + mapRoom)
	if n.elem == nil {
		k, count = r.List()
	} else {
		k, t, count = r.Map()
	}
	if r.Err() != nil {
		return nil
	}
	if count > 0 && !n.key.takes(k) {
		return n.wrong(k)
	}
	if count > 0 && n.elem != nil && !n.elem.takes(t) {
		return n.wrong(t)
	}
	table := reflect.MakeMapWithSize(n.typ, min(count, firstRoom/int(each)))
	v.Set(table)
	key, value := reflect.New(n.typ.Key()).Elem(), reflect.New(n.typ.Elem()).Elem()
	for range count {
		r.Grow(each)
		key.SetZero()
		value.SetZero()
		if err := n.key.decode(r, k, key); err != nil {
			return err
		}
		if n.elem != nil {
			if err := n.elem.decode(r, t, value); err != nil {
				return err
			}
		}
		if r.Err() != nil {
			return nil
		}
		table.SetMapIndex(key, value)
	}
	return nil
}

func (r *Record) decode(in *protocol.Reader, v reflect.Value) error {
	in.Enter()
	seen := uint64(0)
	for {
		t, id := in.Field()
		if t == protocol.Stop {
			break
		}
		f := r.find(id)
		if f == nil || !f.Node.takes(t) {
			in.Skip(t)
			continue
		}
		x := v.Field(f.index)
		if f.Node.op >= opStruct { // the field may come twice
			x.SetZero()
		}
		if err := f.Node.decode(in, t, x); err != nil {
			return trail.In(r.typ.String()+"."+f.Name, err)
		}
		seen |= f.bit
	}
	in.Leave()
	if r.Union {
		if set := r.set(v); set > 1 {
			return fmt.Errorf("%d fields of the union %s are set: set exactly one", set, r.typ)
		}
	}
	if missing := r.needed &^ seen; missing != 0 && in.Err() == nil {
		for _, f := range r.Fields {
			if f.bit&missing != 0 {
				return fmt.Errorf("%s.%s, field %d, is required and did not come", r.typ, f.Name, f.ID)
			}
		}
	}
	return nil
}

// set returns how many fields of the union v are set.
func (r *Record) set(v reflect.Value) int {
	count := 0
	for i := range r.Fields {
		if !empty(v.Field(r.Fields[i].index)) {
			count++
		}
	}
	return count
}
