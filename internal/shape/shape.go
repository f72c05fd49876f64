// Package shape makes functions that can be called remotely of the methods of a Go value, by reflection, or
// tells why a method nearly is one. The shapes are those of weft.Services.Register.
package shape

import (
	"context"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/internal/fit"
)

// End is a handler's end of a stream without its types.
type End interface {
	Send(msg any) error
	Recv(msg any) error
}

// Stream is a parameter by which a method gets its stream.
type Stream struct {
	Kind    string       // for people, such as "server stream"
	Request bool         // the method gets one request beside it
	Reply   bool         // the method returns a reply
	In, Out reflect.Type // of its messages; nil where the request or the reply has the type
	// Attach makes a new parameter of its type, whose messages are those of end.
	Attach func(param any, end End)
}

// Rules are what package weft knows of streams and errors.
type Rules struct {
	// Stream tells what a type of a parameter is, if it is a stream.
	Stream func(t reflect.Type) (Stream, bool)
	// Receive receives the one message of a stream that has exactly one, and waits for the end behind it. more is for a second one.
	Receive func(end End, msg, more any) error
	// NoReply makes the error of a method that returns neither a reply nor an error.
	NoReply func() error
}

// Method is a Go method as it can be called.
type Method struct {
	Kind    *Stream      // nil: a unary method
	In, Out reflect.Type // of the messages, without the pointer

	New    func() any                                      // of a unary method: a pointer to decode the request into
	Call   func(ctx context.Context, req any) (any, error) // of a unary method
	Stream func(ctx context.Context, end End) error        // of any other
}

// Of makes a method of a Go method's value, or tells why it nearly is one. It returns neither for a method
// that does not look like one for remote calls.
func (r *Rules) Of(f reflect.Value) (m *Method, near string) {
	t := f.Type()
	params := make([]reflect.Type, t.NumIn())
	for i := range params {
		params[i] = t.In(i)
	}
	ctx := len(params) > 0 && params[0] == reflect.TypeFor[context.Context]()
	if ctx {
		params = params[1:]
	}
	last := t.NumOut() - 1
	fails := last >= 0 && t.Out(last) == reflect.TypeFor[error]()
	near, meant := r.nearly(t, params, ctx, fails)
	if !meant || near != "" {
		return nil, near
	}
	for i, p := range params {
		if s, ok := r.Stream(p); ok {
			return r.stream(f, s, params[:i]), ""
		}
	}
	return r.unary(f, ctx, params), ""
}

// nearly tells what keeps a method from being suitable, "" for nothing, and whether it looks like
// one for remote calls.
func (r *Rules) nearly(t reflect.Type, params []reflect.Type, ctx, fails bool) (near string, meant bool) {
	at := slices.IndexFunc(params, func(p reflect.Type) bool { _, ok := r.Stream(p); return ok })
	replies := t.NumOut() == 2 && fails
	meant = ctx && (len(params) > 0 || replies) || at >= 0 ||
		len(params) == 2 && t.NumOut() == 1 && fails || replies && len(params) == 1 && structs(params[0], t.Out(0))
	switch {
	case !meant:
		return "", false
	case t.IsVariadic():
		return "it takes a variable number of arguments", true
	case !fails:
		return "its last result is not an error", true
	case at >= 0:
		return r.streamFits(t, params, ctx, at), true
	}
	return unaryFits(t, params, ctx), true
}

func unaryFits(t reflect.Type, params []reflect.Type, ctx bool) string {
	switch {
	case !ctx && t.NumOut() == 2:
		return "it returns a reply and takes no context: the context must come first"
	case t.NumOut() > 2:
		return fmt.Sprintf("it returns %d results, want (*R, error) or error", t.NumOut())
	case t.NumOut() == 2 && len(params) != 1:
		return fmt.Sprintf("it returns a reply and takes %d arguments beside the context, want 1", len(params))
	case t.NumOut() == 1 && len(params) != 2:
		return fmt.Sprintf("it returns only an error and takes %d arguments beside the context, want the arguments and a pointer to the reply", len(params))
	case t.NumOut() == 1 && params[1].Kind() != reflect.Pointer:
		return fmt.Sprintf("its reply has type %v, want a pointer", params[1])
	}
	messages := params
	if t.NumOut() == 2 {
		messages = append(slices.Clip(params), t.Out(0))
	}
	for _, p := range messages {
		if e := Elem(p); !usable(e) {
			return fmt.Sprintf("type %v cannot travel: it is not exported, or an interface, function or channel", p)
		} else if what := fit.Wrong(e); what != "" {
			return fmt.Sprintf("type %v cannot travel: %s", p, what)
		}
	}
	return ""
}

func (r *Rules) streamFits(t reflect.Type, params []reflect.Type, ctx bool, at int) string {
	s, _ := r.Stream(params[at])
	takes, returns := 1, 1
	if s.Request {
		takes++
	}
	if s.Reply {
		returns++
	}
	switch {
	case !ctx:
		return "it has a stream and no context: the context must come first"
	case len(params) != takes || at != len(params)-1:
		return fmt.Sprintf("a %s takes the context, %d argument(s), and the stream last", s.Kind, takes-1)
	case t.NumOut() != returns:
		return fmt.Sprintf("a %s returns %d result(s)", s.Kind, returns)
	}
	return ""
}

// structs reports whether types are pointers to structs, as messages are: a method
// from one to another is most likely meant to be called.
func structs(types ...reflect.Type) bool {
	for _, t := range types {
		if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return false
		}
	}
	return true
}

// usable reports whether values of a type can be messages.
func usable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	// The name of a type with parameters is followed by them.
	name, _, _ := strings.Cut(t.Name(), "[")
	return name == "" || t.PkgPath() == "" || token.IsExported(name)
}

// Elem is the type that a pointer points to, and any other type itself.
func Elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// argument passes a pointer that was decoded into as what the method takes.
func argument(req any, t reflect.Type) reflect.Value {
	v := reflect.ValueOf(req)
	if t.Kind() == reflect.Pointer {
		return v
	}
	return v.Elem()
}

func (r *Rules) unary(f reflect.Value, ctx bool, params []reflect.Type) *Method {
	in := params[0]
	m := &Method{In: Elem(in), New: func() any { return reflect.New(Elem(in)).Interface() }}
	returns := f.Type().NumOut() == 2
	if returns {
		m.Out = Elem(f.Type().Out(0))
	} else {
		m.Out = params[1].Elem()
	}
	m.Call = func(c context.Context, req any) (any, error) {
		args := make([]reflect.Value, 0, 3)
		if ctx {
			args = append(args, reflect.ValueOf(c))
		}
		args = append(args, argument(req, in))
		if returns {
			out := f.Call(args)
			if err, _ := out[1].Interface().(error); err != nil {
				return nil, err
			}
			return r.result(out[0])
		}
		reply := reflect.New(m.Out)
		out := f.Call(append(args, reply))
		if err, _ := out[0].Interface().(error); err != nil {
			return nil, err
		}
		return reply.Interface(), nil
	}
	return m
}

// result is a returned reply as the pointer that codecs want.
func (r *Rules) result(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, r.NoReply()
		}
		return v.Interface(), nil
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface(), nil
}

func (r *Rules) stream(f reflect.Value, s Stream, before []reflect.Type) *Method {
	t := f.Type()
	param := t.In(t.NumIn() - 1)
	m := &Method{Kind: &s, In: s.In, Out: s.Out}
	if s.Request {
		m.In = Elem(before[0])
	}
	if s.Reply {
		m.Out = Elem(t.Out(0))
	}
	m.Stream = func(ctx context.Context, end End) error {
		args := []reflect.Value{reflect.ValueOf(ctx)}
		if s.Request {
			req := reflect.New(m.In).Interface()
			if err := r.Receive(end, req, reflect.New(m.In).Interface()); err != nil {
				return err
			}
			args = append(args, argument(req, before[0]))
		}
		stream := reflect.New(param.Elem())
		s.Attach(stream.Interface(), end)
		results := f.Call(append(args, stream))
		if err, _ := results[len(results)-1].Interface().(error); err != nil {
			return err
		}
		if !s.Reply {
			return nil
		}
		reply, err := r.result(results[0])
		if err != nil {
			return err
		}
		return end.Send(reply)
	}
	return m
}
