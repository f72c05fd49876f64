package msgpack

import (
	"reflect"
	"time"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
)

// any writes a value of any type. The most common types need no plan.
func (e *encoder) any(v any, i, depth int) int {
	switch v := v.(type) {
	case nil:
		return e.null(i)
	case bool:
		return pack.Bool(e.room(i, 1), i, v)
	case string:
		return e.text(v, i)
	case int:
		return pack.Int(e.room(i, 9), i, int64(v))
	case int8:
		return pack.Int(e.room(i, 9), i, int64(v))
	case int16:
		return pack.Int(e.room(i, 9), i, int64(v))
	case int32:
		return pack.Int(e.room(i, 9), i, int64(v))
	case int64:
		return pack.Int(e.room(i, 9), i, v)
	case uint8:
		return pack.Uint(e.room(i, 9), i, uint64(v))
	case uint16:
		return pack.Uint(e.room(i, 9), i, uint64(v))
	case uint32:
		return pack.Uint(e.room(i, 9), i, uint64(v))
	case uint64:
		return pack.Uint(e.room(i, 9), i, v)
	case float32:
		return pack.Float32(e.room(i, 5), i, v)
	case float64:
		return pack.Float64(e.room(i, 9), i, v)
	case []byte:
		if v == nil {
			return e.null(i)
		}
		return e.bytes(v, i)
	case time.Time:
		return pack.Time(e.room(i, pack.MaxTime), i, v)
	case []any:
		if v == nil {
			return e.null(i)
		}
		i = e.listHead(len(v), i, depth)
		for k := 0; k < len(v) && i >= 0; k++ {
			if i = e.any(v[k], i, depth-1); i < 0 {
				return e.in("[%d]", k)
			}
		}
		return i
	}
	p := planOf(v)
	if p.err != nil {
		e.err = p.err
		return failed
	}
	return e.root(p, v, i, depth)
}

// root writes v, which is of the type of the plan p.
func (e *encoder) root(p *plan, v any, i, depth int) int {
	n, value := p.node, reflect.ValueOf(v)
	if n.op != opPointer {
		variable := reflect.New(n.typ)
		variable.Elem().Set(value)
		return e.value(n, memory.Of(variable), i, depth)
	}
	if value.IsNil() {
		return e.null(i)
	}
	if n.elem.op >= opPointer && n.elem.op <= opInterface { // see pointer
		if depth == 0 {
			return e.tooDeep()
		}
		depth--
	}
	return e.value(n.elem, memory.Of(value), i, depth)
}
