package weft_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// Shapes has a method of every shape that Register takes, and some of none.
type Shapes struct{}

func (Shapes) Reply(_ context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil }
func (Shapes) Values(_ context.Context, a Args) (Product, error)  { return Product{a.A * a.B}, nil }
func (Shapes) Out(_ context.Context, a *Args, p *Product) error   { p.C = a.A * a.B; return nil }
func (Shapes) ValueOut(_ context.Context, a Args, p *Product) error {
	p.C = a.A * a.B
	return nil
}
func (Shapes) NetRPC(a *Args, p *Product) error     { p.C = a.A * a.B; return nil }
func (Shapes) NetRPCValue(a Args, p *Product) error { p.C = a.A * a.B; return nil }

func (Shapes) Upper(_ context.Context, s string) (string, error) { return strings.ToUpper(s), nil }
func (Shapes) Sum(_ context.Context, list []int, sum *int) error {
	for _, n := range list {
		*sum += n
	}
	return nil
}
func (Shapes) Wrap(_ context.Context, m map[string]int) (*Page[string], error) {
	p := &Page[string]{}
	for k := range m {
		p.Items = append(p.Items, k)
	}
	slices.Sort(p.Items)
	return p, nil
}

func (Shapes) Both(_ context.Context, s *weft.Stream[Args, Product]) error {
	for a, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(&Product{a.A * a.B}); err != nil {
			return err
		}
	}
	return nil
}
func (Shapes) Many(_ context.Context, a *Args, out *weft.Sender[Product]) error {
	return errors.Join(out.Send(&Product{a.A}), out.Send(&Product{a.B}))
}
func (Shapes) ManyOfValue(_ context.Context, a Args, out *weft.Sender[Product]) error {
	return errors.Join(out.Send(&Product{a.A}), out.Send(&Product{a.B}))
}
func (Shapes) Collect(_ context.Context, in *weft.Receiver[Args]) (*Product, error) {
	p := &Product{}
	for a, err := range in.All() {
		if err != nil {
			return nil, err
		}
		p.C += a.A * a.B
	}
	return p, nil
}
func (s Shapes) CollectValue(ctx context.Context, in *weft.Receiver[Args]) (Product, error) {
	p, err := s.Collect(ctx, in)
	return *p, err
}

// These were never meant to be called, and are left alone.
func (Shapes) String() string                              { return "shapes" }
func (Shapes) Close() error                                { return nil }
func (Shapes) Shutdown(context.Context) error              { return nil }
func (Shapes) WriteTo(w io.Writer) (n int64, err error)    { return 0, nil }
func (Shapes) Lookup(key string) (value string, err error) { return key, nil }
func (Shapes) unexported(*Args, *Product) error            { return nil }

// Page is a message with a type parameter.
type Page[T any] struct{ Items []T }

func TestRegisterShapes(t *testing.T) {
	_ = Shapes.unexported
	ctx := t.Context()
	for name, receiver := range map[string]any{"value": Shapes{}, "pointer": &Shapes{}} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil, func(s *weft.Server) error { return s.Register(receiver) })
			c := w.dial(nil)
			for _, m := range []string{"Reply", "Values", "Out", "ValueOut", "NetRPC", "NetRPCValue"} {
				p, err := weft.Invoke[Product](ctx, c, "Shapes."+m, &Args{6, 7})
				if err != nil || p.C != 42 {
					t.Errorf("%s: %v, %v", m, p, err)
				}
			}
			if s, err := weft.Invoke[string](ctx, c, "Shapes.Upper", "weft"); err != nil || *s != "WEFT" {
				t.Errorf("Upper: %v, %v", s, err)
			}
			if n, err := weft.Invoke[int](ctx, c, "Shapes.Sum", []int{1, 2, 3}); err != nil || *n != 6 {
				t.Errorf("Sum: %v, %v", n, err)
			}
			p, err := weft.Invoke[Page[string]](ctx, c, "Shapes.Wrap", map[string]int{"b": 2, "a": 1})
			if err != nil || !slices.Equal(p.Items, []string{"a", "b"}) {
				t.Errorf("Wrap: %v, %v", p, err)
			}
			for _, m := range []string{"Both", "Many", "ManyOfValue", "Collect", "CollectValue"} {
				s, err := weft.Subscribe[Product](ctx, c, "Shapes."+m, &Args{6, 7})
				must(t, err)
				got := receive(t, s)
				want := []int{42}
				if strings.HasPrefix(m, "Many") {
					want = []int{6, 7}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", m, got, want)
				}
			}
			for _, m := range []string{"String", "Close", "Shutdown", "WriteTo", "Lookup", "unexported"} {
				err := c.Call(ctx, "Shapes."+m, &Args{}, nil)
				wantError(t, err, weft.Unimplemented, weft.Refused, "there is no method Shapes."+m, "Shapes.Both")
			}
		})
	}
}

// receive takes all products of a stream.
func receive(t testing.TB, s *weft.Stream[Product, Args]) (got []int) {
	t.Helper()
	for p, err := range s.All() {
		must(t, err)
		got = append(got, p.C)
	}
	return got
}

// Promoted methods count, as in Go.
type (
	Inner      struct{ Factor int }
	Outer      struct{ *Inner }
	Box[T any] struct{}
)

func (i *Inner) Scale(_ context.Context, n *int) (*int, error)   { r := *n * i.Factor; return &r, nil }
func (*Box[T]) Put(_ context.Context, item *T) (*Page[T], error) { return &Page[T]{[]T{*item}}, nil }

func TestRegisterPromotedAndGeneric(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(s.Register(Outer{&Inner{3}}), s.Register(&Box[Args]{}), s.RegisterName("Texts", &Box[string]{}))
	})
	c := w.dial(nil)
	if n, err := weft.Invoke[int](ctx, c, "Outer.Scale", 14); err != nil || *n != 42 {
		t.Errorf("Outer.Scale: %v, %v", n, err)
	}
	if p, err := weft.Invoke[Page[Args]](ctx, c, "Box.Put", &Args{1, 2}); err != nil || !slices.Equal(p.Items, []Args{{1, 2}}) {
		t.Errorf("Box.Put: %v, %v", p, err)
	}
	if p, err := weft.Invoke[Page[string]](ctx, c, "Texts.Put", "x"); err != nil || !slices.Equal(p.Items, []string{"x"}) {
		t.Errorf("Texts.Put: %v, %v", p, err)
	}
}

// Each of these has one method that nearly fits.
type (
	noError         struct{}
	noReply         struct{}
	replyNoPointer  struct{}
	threeResults    struct{}
	twoArguments    struct{}
	oneArgument     struct{}
	noArgument      struct{}
	noContext       struct{}
	variadic        struct{}
	unexportedArg   struct{}
	unexportedReply struct{}
	interfaceArg    struct{}
	channelReply    struct{}
	streamNoContext struct{}
	streamNotLast   struct{}
	streamReturns   struct{}
	receiverNoReply struct{}
	senderNoArg     struct{}
	private         struct{ X int }
)

func (noError) M(context.Context, *Args) *Product                       { return nil }
func (noReply) M(context.Context, *Args)                                {}
func (replyNoPointer) M(context.Context, *Args, Product) error          { return nil }
func (threeResults) M(context.Context, *Args) (int, *Product, error)    { return 0, nil, nil }
func (twoArguments) M(context.Context, *Args, int) (*Product, error)    { return nil, nil }
func (oneArgument) M(context.Context, *Args) error                      { return nil }
func (noArgument) M(context.Context) (*Product, error)                  { return nil, nil }
func (noContext) M(*Args) (*Product, error)                             { return nil, nil }
func (variadic) M(context.Context, ...Args) (*Product, error)           { return nil, nil }
func (unexportedArg) M(context.Context, *private) (*Product, error)     { return nil, nil }
func (unexportedReply) M(context.Context, *Args, *private) error        { return nil }
func (interfaceArg) M(context.Context, io.Reader) (*Product, error)     { return nil, nil }
func (channelReply) M(context.Context, *Args) (chan int, error)         { return nil, nil }
func (streamNoContext) M(*weft.Stream[Args, Product]) error             { return nil }
func (streamNotLast) M(context.Context, *weft.Sender[Args], Args) error { return nil }
func (streamReturns) M(context.Context, *weft.Stream[Args, Product]) (*Product, error) {
	return nil, nil
}
func (receiverNoReply) M(context.Context, *weft.Receiver[Args]) error { return nil }
func (senderNoArg) M(context.Context, *weft.Sender[Args]) error       { return nil }

func TestRegisterNearMiss(t *testing.T) {
	for _, tt := range []struct {
		receiver any
		why      string
	}{
		{noError{}, "its last result is not an error"},
		{noReply{}, "its last result is not an error"},
		{replyNoPointer{}, "its reply has type weft_test.Product, want a pointer"},
		{threeResults{}, "it returns 3 results"},
		{twoArguments{}, "takes 2 arguments beside the context, want 1"},
		{oneArgument{}, "takes 1 arguments beside the context"},
		{noArgument{}, "takes 0 arguments beside the context, want 1"},
		{noContext{}, "takes no context"},
		{variadic{}, "variable number of arguments"},
		{unexportedArg{}, "*weft_test.private cannot travel"},
		{unexportedReply{}, "*weft_test.private cannot travel"},
		{interfaceArg{}, "io.Reader cannot travel"},
		{channelReply{}, "chan int cannot travel"},
		{streamNoContext{}, "the context must come first"},
		{streamNotLast{}, "the stream last"},
		{streamReturns{}, "a bidirectional stream returns 1 result(s)"},
		{receiverNoReply{}, "a client stream returns 2 result(s)"},
		{senderNoArg{}, "a server stream takes the context, 1 argument(s)"},
	} {
		s := weft.NewServer(nil)
		err := s.RegisterName("Near", tt.receiver)
		name := reflect.TypeOf(tt.receiver).String()
		wantError(t, err, weft.InvalidArgument, weft.OutcomeUnknown, "register Near", name+".M", "does not fit", tt.why)
		if got := s.Describe(); len(got) != 0 {
			t.Errorf("%s: registered %v after an error", name, got)
		}
	}
}

type (
	// PointerOnly has methods on its pointer alone.
	PointerOnly struct{}
	// Mixed has a method that fits and one that nearly does.
	Mixed struct{}
	// Nothing has none.
	Nothing struct{}
)

func (*PointerOnly) Mul(_ context.Context, a *Args) (*Product, error) {
	return &Product{a.A * a.B}, nil
}
func (Mixed) Good(_ context.Context, a *Args) (*Product, error) { return &Product{a.A}, nil }
func (Mixed) Near(context.Context, *Args) error                 { return nil }

func TestRegisterErrors(t *testing.T) {
	local := struct{ Arith }{}
	for _, tt := range []struct {
		name     string
		register func(*weft.Server) error
		code     weft.Code
		want     []string
	}{
		{"nil", func(s *weft.Server) error { return s.Register(nil) }, weft.InvalidArgument, []string{"the value is nil"}},
		{"nil with a name", func(s *weft.Server) error { return s.RegisterName("A", nil) }, weft.InvalidArgument, []string{"register A", "the value is nil"}},
		{"nil pointer", func(s *weft.Server) error { return s.Register((*PointerOnly)(nil)) }, weft.InvalidArgument, []string{"nil *weft_test.PointerOnly"}},
		{"unexported", func(s *weft.Server) error { return s.Register(private{}) }, weft.InvalidArgument, []string{"weft_test.private", "use RegisterName"}},
		{"no name", func(s *weft.Server) error { return s.Register(local) }, weft.InvalidArgument, []string{"use RegisterName"}},
		{"nothing suitable", func(s *weft.Server) error { return s.Register(Nothing{}) }, weft.InvalidArgument, []string{"Nothing", "no suitable method"}},
		{"methods on the pointer", func(s *weft.Server) error { return s.Register(PointerOnly{}) }, weft.InvalidArgument, []string{"no suitable method", "pass a pointer"}},
		{"empty name", func(s *weft.Server) error { return s.RegisterName("", Arith{}) }, weft.InvalidArgument, []string{`".`, "Service.Method"}},
		{"blank in name", func(s *weft.Server) error { return s.RegisterName("A B", Arith{}) }, weft.InvalidArgument, []string{`"A B.`}},
		{"not UTF-8", func(s *weft.Server) error { return s.RegisterName("A\xff", Arith{}) }, weft.InvalidArgument, []string{"UTF-8"}},
		{"long name", func(s *weft.Server) error { return s.RegisterName(strings.Repeat("x", 252), Arith{}) }, weft.InvalidArgument, []string{"256 bytes"}},
		{"twice", func(s *weft.Server) error { s.Register(Arith{}); return s.Register(Arith{}) }, weft.AlreadyExists, []string{"Arith.", "registered already"}},
		{"method that is missing", func(s *weft.Server) error {
			return s.RegisterMethods("A", Arith{}, map[string]string{"Mul": "mul", "Pow": "pow"})
		}, weft.InvalidArgument, []string{"no exported method Pow"}},
		{"method that cannot be called", func(s *weft.Server) error {
			return s.RegisterMethods("A", Shapes{}, map[string]string{"Close": "close"})
		}, weft.InvalidArgument, []string{"Shapes.Close", "not of a shape"}},
		{"no methods", func(s *weft.Server) error { return s.RegisterMethods("A", Arith{}, nil) }, weft.InvalidArgument, []string{"no suitable method"}},
		{"two methods, one name", func(s *weft.Server) error {
			return s.RegisterMethods("A", Arith{}, map[string]string{"Mul": "m", "Div": "m"})
		}, weft.InvalidArgument, []string{"two methods", "A.m"}},
		{"empty method name", func(s *weft.Server) error {
			return s.RegisterMethods("A", Arith{}, map[string]string{"Mul": ""})
		}, weft.InvalidArgument, []string{`"A."`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, tt.register(weft.NewServer(nil)), tt.code, weft.OutcomeUnknown, tt.want...)
		})
	}
}

// After an error nothing has been registered, not even what fits.
func TestRegisterAllOrNothing(t *testing.T) {
	s := weft.NewServer(nil)
	if err := s.Register(Mixed{}); err == nil {
		t.Error("Mixed was registered")
	}
	must(t, weft.Handle(s, "Arith.Mul", Arith{}.Mul))
	if err := s.Register(Arith{}); !errors.Is(err, weft.AlreadyExists) {
		t.Errorf("Arith again: %v", err)
	}
	if got := methodNames(s); !slices.Equal(got, []string{"Arith.Mul"}) {
		t.Errorf("registered: %v", got)
	}
}

func methodNames(s *weft.Server) (names []string) {
	for _, service := range s.Describe() {
		for _, m := range service.Methods {
			names = append(names, m.Name)
		}
	}
	return names
}
