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

// encode appends a value, which can be addressed. depth is how many structs and containers are
// around it.
func (n *Node) encode(w *protocol.Writer, v reflect.Value, depth int) error {
	if depth > protocol.MaxDepth {
		return fmt.Errorf("more than %d structs and containers stand in one another: a %s may contain itself", protocol.MaxDepth, n.typ)
	}
	switch n.op {
	case opBool:
		w.Bool(v.Bool())
	case opInt:
		x := v.Int()
		if !fits(n.wire, x) {
			return fmt.Errorf("the number %d does not fit the type %s", x, n.wire)
		}
		w.Int(n.wire, x)
	case opUint:
		x := v.Uint()
		if x > math.MaxInt64 || !fits(n.wire, int64(x)) {
			return fmt.Errorf("the number %d does not fit the type %s", x, n.wire)
		}
		w.Int(n.wire, int64(x))
	case opFloat:
		w.Double(v.Float())
	case opKey:
		w.Bytes([]byte(v.String()))
	case opText:
		w.Text(v.String())
	case opBytes, opOctets:
		w.Bytes(v.Bytes())
	case opUUID:
		w.UUID([16]byte(v.Bytes()))
	case opMarshal:
		text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return err
		}
		w.Text(string(text))
	case opStruct:
		return n.record.encode(w, v, depth+1)
	case opForeign:
		return bridge.Write(w, v.Addr().Interface().(thrift.TStruct))
	case opPointer:
		if v.IsNil() {
			return fmt.Errorf("a nil %s stands in a container, where Thrift has no place for it", n.typ)
		}
		return n.elem.encode(w, v.Elem(), depth)
	case opList, opArray:
		w.List(n.elem.wire, v.Len())
		if n.plain {
			n.encodeScalars(w, v)
			break
		}
		for i := range v.Len() {
			if err := n.elem.encode(w, v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case opMap:
		return n.encodeMap(w, v, depth+1)
	}
	return nil
}

// fits reports whether a number fits an integer type.
func fits(t protocol.Type, v int64) bool {
	switch t {
	case protocol.I8:
		return v == int64(int8(v))
	case protocol.I16:
		return v == int64(int16(v))
	case protocol.I32:
		return v == int64(int32(v))
	}
	return true
}

func (n *Node) encodeMap(w *protocol.Writer, v reflect.Value, depth int) error {
	key := reflect.New(n.typ.Key()).Elem()
	var value reflect.Value
	if n.elem == nil {
		w.List(n.key.wire, v.Len())
	} else {
		w.Map(n.key.wire, n.elem.wire, v.Len())
		value = reflect.New(n.typ.Elem()).Elem()
	}
	for all := v.MapRange(); all.Next(); {
		key.SetIterKey(all)
		if err := n.key.encode(w, key, depth); err != nil {
			return err
		}
		if n.elem == nil {
			continue
		}
		value.SetIterValue(all)
		if err := n.elem.encode(w, value, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) encode(w *protocol.Writer, v reflect.Value, depth int) error {
	w.Begin()
	sent := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		x := v.Field(f.index)
		switch {
		case f.Node.op == opPointer:
			if x.IsNil() {
				if f.Required {
					return fmt.Errorf("%s.%s is nil and required", r.typ, f.Name)
				}
				continue
			}
		case f.Optional && empty(x), f.ID == 0 && x.Kind() != reflect.Struct && empty(x):
			continue
		}
		w.Field(f.Node.wire, f.ID)
		if err := f.Node.encode(w, x, depth); err != nil {
			return trail.In(r.typ.String()+"."+f.Name, err)
		}
		sent++
	}
	if r.Union && sent != 1 {
		return fmt.Errorf("%d fields of the union %s are set: set exactly one", sent, r.typ)
	}
	w.Stop()
	w.End()
	return nil
}

// empty reports whether an optional field is not sent.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.IsNil()
	}
	return v.IsZero()
}
