package protocol

import "unicode/utf8"

// Copy reads a value of the type t from r and appends it to w, which may have another protocol. A string that the JSON
// protocol does not have yet is bytes if it is no valid text.
func Copy(w *Writer, r *Reader, t Type) {
	switch t {
	case Bool:
		w.Bool(r.Bool())
	case I8, I16, I32, I64:
		v, _ := r.Int(t)
		w.Int(t, v)
	case Double:
		w.Double(r.Double())
	case UUID:
		w.UUID(r.UUID())
	case String:
		if b := raw(r); w.Armored && !r.Armored && !utf8.Valid(b) {
			w.Bytes(b)
		} else {
			w.raw(b)
		}
	case Struct:
		r.Enter()
		w.Begin()
		for r.err == nil {
			t, id := r.Field()
			if t == Stop {
				break
			}
			w.Field(t, id)
			Copy(w, r, t)
		}
		w.Stop()
		w.End()
		r.Leave()
	case Map:
		r.Enter()
		key, value, n := r.Map()
		w.Map(key, value, n)
		for ; n > 0 && r.err == nil; n-- {
			Copy(w, r, key)
			Copy(w, r, value)
		}
		r.Leave()
	case Set, List:
		r.Enter()
		elem, n := r.List()
		w.List(elem, n)
		for ; n > 0 && r.err == nil; n-- {
			Copy(w, r, elem)
		}
		r.Leave()
	default:
		r.Fail(errType)
	}
}
