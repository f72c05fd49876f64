package plan

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Method maps the request and the reply of a method to the structs of its messages. All methods
// may be called concurrently.
type Method struct {
	Set    *Set
	Name   string // "Service.Method"
	Single bool   // the request is the one parameter of the method, also if it is a struct

	args, result atomic.Pointer[shape]
}

// shape is the place of a type's values in a message.
type shape struct {
	typ   reflect.Type
	node  *Node
	place place
}

type place uint8

const (
	whole place = iota // the value is the struct of the message
	field              // it is one field: 1 of the arguments, 0 of the result
	void               // it is not there
)

// The fields of messages in which values are that are not whole.
const (
	parameter = 1
	success   = 0
)

// shapeOf returns the shape of a type, and keeps the last one.
func (m *Method) shapeOf(known *atomic.Pointer[shape], t reflect.Type, place func(n *Node) place) (*shape, error) {
	if s := known.Load(); s != nil && s.typ == t {
		return s, nil
	}
	n, err := m.Set.Of(t)
	if err != nil {
		return nil, err
	}
	s := &shape{t, n, place(n)}
	known.Store(s)
	return s, nil
}

func (m *Method) argsPlace(n *Node) place {
	switch {
	case n.op == opStruct && !m.Single:
		return whole
	case n.op == opForeign && m.generated(n, "Args"):
		return whole
	}
	return field
}

func (m *Method) resultPlace(n *Node) place {
	switch {
	case n.op == opForeign && (m.generated(n, "Result") || n.record != nil && n.record.find(success) != nil):
		return whole
	case n.op == opStruct && len(n.record.Fields) == 0:
		return void
	case n.op == opStruct && n.record.find(success) != nil:
		return whole
	}
	return field
}

// generated reports whether the type has the name that the Thrift compiler gives the struct of the
// arguments, or of the result, of this method.
func (m *Method) generated(n *Node, suffix string) bool {
	service, method := "", m.Name
	if i := strings.LastIndexByte(m.Name, '.'); i >= 0 {
		service, method = m.Name[:i], m.Name[i+1:]
		service = service[strings.LastIndexByte(service, '.')+1:]
	}
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return fold(n.typ.Name()) == fold(service+method+suffix)
}

// at returns the variable that v, a pointer, points to, or a copy of v that can be addressed.
func at(v any) reflect.Value {
	x := reflect.ValueOf(v)
	if x.Kind() == reflect.Pointer && !x.IsNil() {
		return x.Elem()
	}
	c := reflect.New(x.Type()).Elem()
	c.Set(x)
	return c
}

// ReadArgs reads the arguments of a call into v, a pointer.
func (m *Method) ReadArgs(r *protocol.Reader, v any) error {
	x := at(v)
	s, err := m.shapeOf(&m.args, x.Type(), m.argsPlace)
	if err != nil {
		return err
	}
	x.SetZero()
	if s.place == whole {
		err = s.node.decode(r, protocol.Struct, x)
	} else {
		_, err = s.readField(r, x, parameter, nil)
	}
	return ended(r, err)
}

// ended returns the error of reading a message, which has no bytes behind its struct.
func ended(r *protocol.Reader, err error) error {
	switch {
	case r.Err() != nil:
		return r.Err()
	case err != nil:
		return err
	case r.Left() > 0:
		return fmt.Errorf("thrift: %d bytes stand behind the message", r.Left())
	}
	return nil
}

// readField reads a struct of which x is one field. other is told of a struct in another field.
func (s *shape) readField(r *protocol.Reader, x reflect.Value, id int16, other func(id int16)) (found bool, err error) {
	r.Enter()
	for {
		t, got := r.Field()
		switch {
		case t == protocol.Stop:
			r.Leave()
			return found, nil
		case s != nil && s.place == field && got == id && s.node.takes(t):
			if found {
				x.SetZero()
			}
			found = true
			if err := s.node.decode(r, t, x); err != nil {
				return found, err
			}
		case other != nil && got != id && t == protocol.Struct:
			other(got)
		default:
			r.Skip(t)
		}
	}
}

// WriteArgs appends the arguments of a call.
func (m *Method) WriteArgs(w *protocol.Writer, v any) error {
	x := at(v)
	s, err := m.shapeOf(&m.args, x.Type(), m.argsPlace)
	if err != nil {
		return err
	}
	return s.write(w, x, parameter)
}

func (s *shape) write(w *protocol.Writer, x reflect.Value, id int16) error {
	if s.place == whole {
		return s.node.encode(w, x, 0)
	}
	w.Begin()
	if s.place == field && !(s.node.op == opPointer && x.IsNil()) {
		w.Field(s.node.wire, id)
		if err := s.node.encode(w, x, 1); err != nil {
			return err
		}
	}
	w.Stop()
	w.End()
	return nil
}

// WriteResult appends the result of a call.
func (m *Method) WriteResult(w *protocol.Writer, v any) error {
	x := at(v)
	s, err := m.shapeOf(&m.result, x.Type(), m.resultPlace)
	if err != nil {
		return err
	}
	return s.write(w, x, success)
}

// Thrown is an exception that a method declares: the field of the result, and its bytes in the
// binary protocol.
type Thrown struct {
	ID      int16
	Body    []byte // nil: it came by the JSON protocol
	Armored []byte // the same with bytes that are no text in base64; nil: there are none, or they are not known
}

// reader reads the exception for a writer that is armored, or not.
func (t *Thrown) reader(armored bool) *protocol.Reader {
	r := &protocol.Reader{}
	r.Reset(t.Body, false)
	if t.Body == nil || armored && t.Armored != nil {
		r.Reset(t.Armored, false)
		r.Armored = true
	}
	return r
}

// ErrNoResult is the error of a result that has neither a value nor an exception.
var ErrNoResult = fmt.Errorf("thrift: the result has neither a value nor an exception")

// ReadResult reads the result of a call into v, a pointer, or drops it if v is nil. An exception is
// returned, unless v is the struct of the result and has it.
func (m *Method) ReadResult(r *protocol.Reader, v any) (*Thrown, error) {
	var s *shape
	var x reflect.Value
	if v != nil {
		x = at(v)
		var err error
		if s, err = m.shapeOf(&m.result, x.Type(), m.resultPlace); err != nil {
			return nil, err
		}
		x.SetZero()
		if s.place == whole {
			return nil, ended(r, s.node.decode(r, protocol.Struct, x))
		}
	}
	var thrown *Thrown
	found, err := s.readField(r, x, success, func(id int16) {
		w := protocol.Writer{Armored: r.Armored}
		protocol.Copy(&w, r, protocol.Struct)
		if thrown = (&Thrown{ID: id, Body: w.Buf}); r.Armored {
			thrown.Body, thrown.Armored = nil, w.Buf
		}
	})
	if err = ended(r, err); err != nil || thrown != nil {
		return thrown, err
	}
	if s != nil && s.place == field && !found {
		return nil, ErrNoResult
	}
	return nil, nil
}

// WriteThrown appends a result that has an exception.
func WriteThrown(w *protocol.Writer, t *Thrown) error {
	r := t.reader(w.Armored)
	w.Begin()
	w.Field(protocol.Struct, t.ID)
	protocol.Copy(w, r, protocol.Struct)
	w.Stop()
	w.End()
	return ended(r, nil)
}

// Throw makes an exception of a struct.
func Throw(id int16, v any) (*Thrown, error) {
	var plain protocol.Writer
	if err := write(&plain, v); err != nil {
		return nil, err
	}
	t := &Thrown{ID: id, Body: plain.Buf}
	armored := protocol.Writer{Armored: true}
	if err := write(&armored, v); err == nil && !bytes.Equal(armored.Buf, plain.Buf) {
		t.Armored = armored.Buf
	}
	return t, nil
}

// write appends a struct.
func write(w *protocol.Writer, v any) error {
	x := at(v)
	n, err := new(Set).Of(x.Type())
	if err != nil {
		return err
	}
	if n.wire != protocol.Struct {
		return fmt.Errorf("a %s is no struct", n.typ)
	}
	return n.encode(w, x, 0)
}

// Decode reads an exception into v, a pointer.
func (t *Thrown) Decode(v any) error {
	x := at(v)
	n, err := new(Set).Of(x.Type())
	if err != nil {
		return err
	}
	if n.wire != protocol.Struct {
		return fmt.Errorf("a %s is no struct", n.typ)
	}
	r := t.reader(false)
	x.SetZero()
	return ended(r, n.decode(r, protocol.Struct, x))
}
