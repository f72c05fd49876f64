package weft

import (
	"context"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/internal/shape"
)

// Register registers every suitable method of a value under the name of its type, so that method Mul of type Arith is called "Arith.Mul";
// Box[int] counts as Box. These shapes are suitable, on values as well as on pointers, promoted methods among them; A and R may be any
// types, *A may also be A:
//
//	func (T) M(ctx context.Context, args *A) (*R, error)
//	func (T) M(ctx context.Context, args *A, reply *R) error
//	func (T) M(args *A, reply *R) error
//	func (T) M(ctx context.Context, stream *weft.Stream[A, R]) error
//	func (T) M(ctx context.Context, args *A, out *weft.Sender[R]) error
//	func (T) M(ctx context.Context, in *weft.Receiver[A]) (*R, error)
//
// Other exported methods are ignored, unless they nearly fit: that is an error which names the method and what is wrong with it. So is a
// value without a suitable method, and a name that is registered already. After an error nothing has been registered.
//
// The options are those of every method of the value, and For gives some to one.
func (s *Services) Register(receiver any, opts ...MethodOption) error {
	t := reflect.TypeOf(receiver)
	if t == nil {
		return Errorf(InvalidArgument, "weft: register: the value is nil")
	}
	// The name of a type with parameters is followed by them.
	name, _, _ := strings.Cut(shape.Elem(t).Name(), "[")
	if !token.IsExported(name) {
		return Errorf(InvalidArgument, "weft: register: type %v is not exported or has no name; use RegisterName", t)
	}
	return s.register(name, receiver, nil, opts)
}

// RegisterName is Register with a name of its own for the service.
func (s *Services) RegisterName(service string, receiver any, opts ...MethodOption) error {
	return s.register(service, receiver, nil, opts)
}

// RegisterMethods registers only the named methods of a value: names maps the methods' names in Go to their names on the wire.
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
	rules := shapes()
	for i := range t.NumMethod() {
		rm := t.Method(i)
		wireName, wanted := rm.Name, true
		if names != nil {
			wireName, wanted = names[rm.Name]
		}
		if !wanted {
			continue
		}
		f, near := rules.Of(v.Method(i))
		switch {
		case f != nil:
			m := methodOf(f)
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
			if m, _ := shapes().Of(reflect.New(t).Method(i)); m != nil {
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

// shapes are the rules of package shape.
func shapes() *shape.Rules {
	return &shape.Rules{
		Stream:  streamOf,
		Receive: func(end shape.End, msg, more any) error { return recvOnly(end, msg, more) },
		NoReply: func() error { return Errorf(Internal, "the handler returned neither a reply nor an error") },
	}
}

// streamOf tells what a parameter of a method is, if it is a stream.
func streamOf(t reflect.Type) (shape.Stream, bool) {
	if t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[streamParam]()) {
		return shape.Stream{}, false
	}
	kind, in, out := reflect.New(t.Elem()).Interface().(streamParam).types()
	return shape.Stream{
		Kind: kind.String(), Request: kind == ServerStream, Reply: kind == ClientStream, In: in, Out: out,
		Attach: func(param any, end shape.End) { param.(streamParam).attach(end.(RawStream)) },
	}, true
}

// methodOf is a method of a shape.
func methodOf(f *shape.Method) *method {
	m := &method{in: f.In, out: f.Out, newRequest: f.New, call: f.Call}
	if f.Kind == nil {
		return m
	}
	switch {
	case f.Kind.Request:
		m.kind = ServerStream
	case f.Kind.Reply:
		m.kind = ClientStream
	default:
		m.kind = BidiStream
	}
	m.stream = func(ctx context.Context, end RawStream) error { return f.Stream(ctx, end) }
	return m
}
