package plan

import (
	"reflect"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// The lists that occur most are read and written without package reflect for each element.

// decodeScalars reads count elements of the type t into a list of a common type; false: it is none, or
// the elements have another size.
func (n *Node) decodeScalars(r *protocol.Reader, t protocol.Type, count int, v reflect.Value) bool {
	if t != n.elem.wire || !n.plain {
		return false
	}
	switch list := v.Addr().Interface().(type) {
	case *[]string:
		*list = elements(r, count, (*protocol.Reader).Text)
	case *[]int32:
		*list = elements(r, count, (*protocol.Reader).I32)
	case *[]int64:
		*list = elements(r, count, (*protocol.Reader).I64)
	case *[]float64:
		*list = elements(r, count, (*protocol.Reader).Double)
	case *[]bool:
		*list = elements(r, count, (*protocol.Reader).Bool)
	}
	return true
}

// elements reads the elements of a list. An element takes at least a byte of the message, so the list
// is at most some times as large as that.
func elements[T any](r *protocol.Reader, count int, read func(r *protocol.Reader) T) []T {
	r.Grow(int64(count) * int64(reflect.TypeFor[T]().Size()))
	if r.Err() != nil {
		return nil
	}
	list := make([]T, count)
	for i := range list {
		list[i] = read(r)
	}
	return list
}

// encodeScalars appends the elements of a list of a common type.
func (n *Node) encodeScalars(w *protocol.Writer, v reflect.Value) {
	switch list := v.Addr().Interface().(type) {
	case *[]string:
		for _, x := range *list {
			w.Text(x)
		}
	case *[]int32:
		for _, x := range *list {
			w.I32(x)
		}
	case *[]int64:
		for _, x := range *list {
			w.I64(x)
		}
	case *[]float64:
		for _, x := range *list {
			w.Double(x)
		}
	case *[]bool:
		for _, x := range *list {
			w.Bool(x)
		}
	}
}

// scalars reports whether a type is one of the lists above, whose elements have the type that is
// usual for them.
func scalars(t reflect.Type, elem *Node) bool {
	switch t {
	case reflect.TypeFor[[]string](), reflect.TypeFor[[]float64](), reflect.TypeFor[[]bool]():
		return true
	case reflect.TypeFor[[]int32]():
		return elem.wire == protocol.I32
	case reflect.TypeFor[[]int64]():
		return elem.wire == protocol.I64
	}
	return false
}
