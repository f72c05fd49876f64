package weft

import (
	"context"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/internal/fit"
)

// Register registers every suitable method of a value under the name of its type, so that
// method Mul of type Arith is called "Arith.Mul"; Box[int] counts as Box. These shapes are
// suitable, on values as well as on pointers, promoted methods among them; A and R may be any
// types, *A may also be A:
//
//	func (T) M(ctx context.Context, args *A) (*R, error)
//	func (T) M(ctx context.Context, args *A, reply *R) error
//	func (T) M(args *A, reply *R) error
//	func (T) M(ctx context.Context, stream *weft.Stream[A, R]) error
//	func (T) M(ctx context.Context, args *A, out *weft.Sender[R]) error
//	func (T) M(ctx context.Context, in *weft.Receiver[A]) (*R, error)
//
// Other exported methods are ignored, unless they nearly fit: that is an error
// which names the method and what is wrong with it. So is a value without a
// suitable method, and a name that is registered already. After an error nothing
// has been registered.
//
// The options are those of every method of the value, and For gives some to one.
func (s *Services) Register(receiver any, opts ...MethodOption) error {
	t := reflect.TypeOf(receiver)
	if t == nil {
		return Errorf(InvalidArgument, "weft: register: the value is nil")
	}
	// The name of a type with parameters is followed by them.
	name, _, _ := strings.Cut(elem(t).Name(), "[")
	if !token.IsExported(name) {
		return Errorf(InvalidArgument, "weft: register: type %v is not exported or has no name; use RegisterName", t)
	}
	return s.register(name, receiver, nil, opts)
}

// RegisterName is Register with a name of its own for the service.
func (s *Services) RegisterName(service string, receiver any, opts ...MethodOption) error {
	return s.register(service, receiver, nil, opts)
}

// RegisterMethods registers only the named methods of a value: names maps the
// methods' names in Go to their names on the wire.
func (s *Services) RegisterMethods(service string, receiver any, names map[string]string, opts ...MethodOption) error {
	if names == nil {
		names = map[string]string{}
	}
	return s.register(service, receiver, names, opts)
}

func (s *Services) register(service string, receiver any, names map[string]string, opts []MethodOption) error {
	all, err := factsOf(opts)
	if err != nil {
		return err
	}
	v := reflect.ValueOf(receiver)
	if !v.IsValid() {
		return Errorf(InvalidArgument, "weft: register %s: the value is nil", service)
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer && v.IsNil() {
		return Errorf(InvalidArgument, "weft: register %s: the value is a nil %v", service, t)
	}
	var found []*method
	for i := range t.NumMethod() {
		rm := t.Method(i)
		wireName, wanted := rm.Name, true
		if names != nil {
			wireName, wanted = names[rm.Name]
		}
		if !wanted {
			continue
		}
		m, near := shapeOf(v.Method(i))
		switch {
		case m != nil:
			m.name = service + "." + wireName
			if m.facts, err = factsOf(append(slices.Clip(opts), all.of[rm.Name]...)); err != nil {
				return err
			}
			delete(all.of, rm.Name)
			found = append(found, m)
		case near != "" || names != nil:
			return Errorf(InvalidArgument, "weft: register %s: method %v.%s %v does not fit: %s", service, t, rm.Name, v.Method(i).Type(),
				orDefault(near, "it is not of a shape that can be called; see Register"))
		}
	}
	if err := complete(service, t, names, found); err != nil {
		return err
	}
	for goName := range all.of {
		return Errorf(InvalidArgument, "weft: register %s: there are options for method %s of type %v, which is not registered", service, goName, t)
	}
	return s.add(found...)
}

// complete checks that nothing asked for is missing.
func complete(service string, t reflect.Type, names map[string]string, found []*method) error {
	for goName := range names {
		if _, ok := t.MethodByName(goName); !ok {
			return Errorf(InvalidArgument, "weft: register %s: type %v has no exported method %s", service, t, goName)
		}
	}
	if len(found) > 0 {
		return nil
	}
	hint := ""
	if t.Kind() != reflect.Pointer {
		p := reflect.PointerTo(t)
		for i := range p.NumMethod() {
			if m, _ := shapeOf(reflect.New(t).Method(i)); m != nil {
				hint = "; its pointer has: pass a pointer"
			}
		}
	}
	return Errorf(InvalidArgument, "weft: register %s: type %v has no suitable method%s", service, t, hint)
}

// streamParam is a pointer to a Stream, Sender or Receiver of some types.
type streamParam interface {
	attach(RawStream)
	types() (kind Kind, in, out reflect.Type)
}

func (s *Stream[In, Out]) attach(end RawStream) { s.end = end }
func (s *Sender[Out]) attach(end RawStream)     { s.end = end }
func (r *Receiver[In]) attach(end RawStream)    { r.end = end }

func (s *Stream[In, Out]) types() (Kind, reflect.Type, reflect.Type) {
	return BidiStream, reflect.TypeFor[In](), reflect.TypeFor[Out]()
}
func (s *Sender[Out]) types() (Kind, reflect.Type, reflect.Type) {
	return ServerStream, nil, reflect.TypeFor[Out]()
}
func (r *Receiver[In]) types() (Kind, reflect.Type, reflect.Type) {
	return ClientStream, reflect.TypeFor[In](), nil
}

func streamTypes(t reflect.Type) (Kind, reflect.Type, reflect.Type, bool) {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[streamParam]()) {
		return 0, nil, nil, false
	}
	kind, in, out := reflect.New(t.Elem()).Interface().(streamParam).types()
	return kind, in, out, true
}

// shapeOf makes a method of a Go method's value, or tells why it nearly is one.
func shapeOf(f reflect.Value) (m *method, near string) {
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
	if near = nearly(t, params, ctx, fails); near == "no" {
		return nil, ""
	}
	if near != "" {
		return nil, near
	}
	for i, p := range params {
		if kind, in, out, ok := streamTypes(p); ok {
			return streamShape(f, kind, params[:i], in, out), ""
		}
	}
	return unaryShape(f, ctx, params), ""
}

// nearly reports what keeps a method from being suitable: "" for nothing, "no" for
// a method that does not look like one for remote calls.
func nearly(t reflect.Type, params []reflect.Type, ctx, fails bool) string {
	streams := slices.IndexFunc(params, func(p reflect.Type) bool { _, _, _, ok := streamTypes(p); return ok })
	replies := t.NumOut() == 2 && fails
	meant := ctx && (len(params) > 0 || replies) || streams >= 0 ||
		len(params) == 2 && t.NumOut() == 1 && fails || replies && len(params) == 1 && structs(params[0], t.Out(0))
	switch {
	case !meant:
		return "no"
	case t.IsVariadic():
		return "it takes a variable number of arguments"
	case !fails:
		return "its last result is not an error"
	case streams >= 0:
		return streamFits(t, params, ctx, streams)
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
		if e := elem(p); !usable(e) {
			return fmt.Sprintf("type %v cannot travel: it is not exported, or an interface, function or channel", p)
		} else if what := fit.Wrong(e); what != "" {
			return fmt.Sprintf("type %v cannot travel: %s", p, what)
		}
	}
	return ""
}

func streamFits(t reflect.Type, params []reflect.Type, ctx bool, at int) string {
	kind, _, _, _ := streamTypes(params[at])
	want := map[Kind][2]int{BidiStream: {1, 1}, ServerStream: {2, 1}, ClientStream: {1, 2}}[kind]
	switch {
	case !ctx:
		return "it has a stream and no context: the context must come first"
	case len(params) != want[0] || at != len(params)-1:
		return fmt.Sprintf("a %v takes the context, %d argument(s), and the stream last", kind, want[0]-1)
	case t.NumOut() != want[1]:
		return fmt.Sprintf("a %v returns %d result(s)", kind, want[1])
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

func elem(t reflect.Type) reflect.Type {
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

func unaryShape(f reflect.Value, ctx bool, params []reflect.Type) *method {
	in := params[0]
	m := &method{kind: Unary, in: elem(in), newRequest: func() any { return reflect.New(elem(in)).Interface() }}
	returns := f.Type().NumOut() == 2
	if returns {
		m.out = elem(f.Type().Out(0))
	} else {
		m.out = params[1].Elem()
	}
	m.call = func(c context.Context, req any) (any, error) {
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
			return result(out[0])
		}
		reply := reflect.New(m.out)
		out := f.Call(append(args, reply))
		if err, _ := out[0].Interface().(error); err != nil {
			return nil, err
		}
		return reply.Interface(), nil
	}
	return m
}

// result is a returned reply as the pointer that codecs want.
func result(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, Errorf(Internal, "the handler returned neither a reply nor an error")
		}
		return v.Interface(), nil
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface(), nil
}

func streamShape(f reflect.Value, kind Kind, before []reflect.Type, in, out reflect.Type) *method {
	t := f.Type()
	param := t.In(t.NumIn() - 1)
	if kind == ServerStream {
		in = elem(before[0])
	}
	if kind == ClientStream {
		out = elem(t.Out(0))
	}
	return &method{kind: kind, in: in, out: out, stream: func(ctx context.Context, end RawStream) error {
		args := []reflect.Value{reflect.ValueOf(ctx)}
		if kind == ServerStream {
			req := reflect.New(in).Interface()
			if err := recvOnly(end, req); err != nil {
				return err
			}
			args = append(args, argument(req, before[0]))
		}
		s := reflect.New(param.Elem())
		s.Interface().(streamParam).attach(end)
		results := f.Call(append(args, s))
		if err, _ := results[len(results)-1].Interface().(error); err != nil {
			return err
		}
		if kind != ClientStream {
			return nil
		}
		reply, err := result(results[0])
		if err != nil {
			return err
		}
		return end.Send(reply)
	}}
}
