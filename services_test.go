package weft_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
)

func TestDescribe(t *testing.T) {
	s := weft.NewServer(nil)
	must(t, errors.Join(
		s.RegisterMethods("Calc", Arith{}, map[string]string{"Mul": "times", "Div": "by"}),
		s.Alias("Old.Mul", "Calc.times"), s.Alias("Calc.x", "Old.Mul"),
		weft.HandleRaw(s, "Bytes.Echo", func(_ context.Context, req, _ []byte) ([]byte, error) { return req, nil }),
		weft.HandleServerStream(s, "Bytes.Many", func(context.Context, *Args, *weft.Sender[Product]) error { return nil }),
		weft.HandleClientStream(s, "Bytes.Sum", func(context.Context, *weft.Receiver[Args]) (*Product, error) { return nil, nil }),
		weft.HandleStream(s, "Bytes.Talk", func(context.Context, *weft.Stream[Args, Product]) error { return nil }),
	))
	args, product, bytes := reflect.TypeFor[Args](), reflect.TypeFor[Product](), reflect.TypeFor[[]byte]()
	want := []weft.ServiceInfo{
		{Name: "Bytes", Methods: []weft.MethodInfo{
			{Name: "Bytes.Echo", Kind: weft.Unary, Request: bytes, Reply: bytes},
			{Name: "Bytes.Many", Kind: weft.ServerStream, Request: args, Reply: product},
			{Name: "Bytes.Sum", Kind: weft.ClientStream, Request: args, Reply: product},
			{Name: "Bytes.Talk", Kind: weft.BidiStream, Request: args, Reply: product},
		}},
		{Name: "Calc", Methods: []weft.MethodInfo{
			{Name: "Calc.by", Kind: weft.Unary, Request: args, Reply: product},
			{Name: "Calc.times", Aliases: []string{"Calc.x", "Old.Mul"}, Kind: weft.Unary, Request: args, Reply: product},
		}},
	}
	if got := s.Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestServiceNames lists services by all names of their methods.
func TestServiceNames(t *testing.T) {
	s := weft.NewServices()
	must(t, errors.Join(weft.Handle(s, "Calc.Mul", Arith{}.Mul), weft.Handle(s, "Sums.Add", Arith{}.Mul), s.Alias("Old.Mul", "Calc.Mul"),
		s.Alias("Old.Add", "Sums.Add"), s.Alias("Old.Plus", "Sums.Add"), s.Alias("Sums.Mul", "Calc.Mul"), s.Alias("Calc.Times", "Calc.Mul")))
	got := s.ServiceNames()
	for _, of := range got {
		slices.Sort(of)
	}
	want := map[string][]string{"Calc": {"Calc"}, "Sums": {"Calc", "Sums"}, "Old": {"Calc", "Sums"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestChanges: what a door has looked up holds while the count is the same.
func TestChanges(t *testing.T) {
	s := weft.NewServices()
	wrong := weft.Errorf(weft.InvalidArgument, "wrong path")
	before := s.Changes()
	for i, change := range []func() error{
		func() error { return weft.Handle(s, "Calc.Mul", Arith{}.Mul) },
		func() error { return s.Alias("Old.Mul", "Calc.Mul") },
		func() error { return s.Unregister("Old") },
	} {
		must(t, change())
		if now := s.Changes(); now == before {
			t.Errorf("change %d is not counted", i)
		} else {
			before = now
		}
	}
	if err := weft.Handle(s, "Calc.Twice", Arith{}.Mul, weft.InvalidOption(wrong)); err != error(wrong) || s.Changes() != before {
		t.Errorf("a wrong option: %v", err)
	}
	seen := weft.MethodInfo{}
	refuse := weft.Annotate("key", "value", func(m weft.MethodInfo) error { seen = m; return wrong })
	if err := weft.Handle(s, "Calc.Twice", Arith{}.Mul, refuse); err != error(wrong) || s.Changes() != before {
		t.Errorf("a check of an annotation: %v", err)
	}
	if seen.Name != "Calc.Twice" || seen.Request != reflect.TypeFor[Args]() || seen.Annotations["key"] != "value" {
		t.Errorf("the check got %+v", seen)
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[weft.Kind]string{
		weft.Unary: "unary", weft.ServerStream: "server stream", weft.ClientStream: "client stream", weft.BidiStream: "bidirectional stream",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%d: %q, want %q", kind, got, want)
		}
	}
}

// Every name a method goes by calls it, and no other name does.
func TestNames(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(
			s.RegisterName("math/v2.Calc", Arith{}),
			s.RegisterMethods("Part", Arith{}, map[string]string{"Mul": "times"}),
			s.Alias("Old.Multiply", "Part.times"),
			weft.Handle(s, "One.Mul", Arith{}.Mul))
	})
	c := w.dial(nil)
	for _, name := range []string{"math/v2.Calc.Mul", "math/v2.Calc.Div", "Part.times", "Old.Multiply", "One.Mul"} {
		if _, err := weft.Invoke[Product](ctx, c, name, &Args{42, 1}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"Part.Mul", "Part.Div", "part.times", "Part.Times", "times", "Part/times", "/Part.times", "Part.times/", "Part..times", "Old.Mul"} {
		err := c.Call(ctx, name, &Args{42, 1}, nil)
		wantError(t, err, weft.Unimplemented, weft.Refused, "there is no method "+name)
	}
}

// The names that the protocol keeps for itself are no names of methods: a client that calls one is to be refused.
func TestReservedNames(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error { return weft.Handle(s, "weft.Ping", Arith{}.Mul) })
	for _, err := range []error{
		weft.Handle(w.srv, "Weft.Ping", Arith{}.Mul),
		weft.Handle(w.srv, "Weft.Sub.Mul", Arith{}.Mul),
		w.srv.RegisterName("Weft", Arith{}),
		w.srv.Alias("Weft.Ping", "weft.Ping"),
	} {
		wantError(t, err, weft.InvalidArgument, 0, `names that begin with "Weft." are reserved`)
	}
	err := w.dial(nil).Call(t.Context(), "Weft.Ping", &Args{42, 1}, nil)
	wantError(t, err, weft.Unimplemented, weft.Refused, "there is no method Weft.Ping")
}

func TestAliasErrors(t *testing.T) {
	s := weft.NewServer(nil)
	must(t, s.Register(Arith{}))
	wantError(t, s.Alias("A.B", "Arith.Pow"), weft.NotFound, 0, "no method Arith.Pow")
	wantError(t, s.Alias("Arith.Div", "Arith.Mul"), weft.AlreadyExists, 0, "Arith.Div")
	wantError(t, s.Alias("nodot", "Arith.Mul"), weft.InvalidArgument, 0, `"nodot"`)
	wantError(t, s.Unregister("Nobody"), weft.NotFound, 0, "no service Nobody")
}

// A connected client sees methods go and come, at once.
func TestUnregisterWhileConnected(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, nil)
	c := w.dial(nil)
	for round := range 3 {
		multiply(t, c)
		must(t, w.srv.Unregister("Arith"))
		wantError(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, nil), weft.Unimplemented, weft.Refused, "nothing is registered")
		must(t, weft.Handle(w.srv, "Arith.Mul", func(_ context.Context, a *Args) (*Product, error) {
			return &Product{a.A*a.B + round}, nil
		}))
		p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8})
		if err != nil || p.C != 56+round {
			t.Fatalf("round %d: %v, %v: not the method that was registered last", round, p, err)
		}
		must(t, w.srv.Unregister("Arith"))
		must(t, w.srv.Register(Arith{}))
	}
}

// An alias goes with its service, or with the method it stands for; the method
// does not go with its alias.
func TestUnregisterAlias(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, nil)
	must(t, w.srv.Alias("Old.Mul", "Arith.Mul"))
	c := w.dial(nil)
	multiply(t, c)
	must(t, c.Call(ctx, "Old.Mul", &Args{}, nil))

	must(t, w.srv.Unregister("Old"))
	wantError(t, c.Call(ctx, "Old.Mul", &Args{}, nil), weft.Unimplemented, weft.Refused)
	multiply(t, c)

	must(t, w.srv.Alias("Old.Mul", "Arith.Mul"))
	must(t, c.Call(ctx, "Old.Mul", &Args{}, nil))
	must(t, w.srv.Unregister("Arith"))
	wantError(t, c.Call(ctx, "Old.Mul", &Args{}, nil), weft.Unimplemented, weft.Refused)
	if got := w.srv.Describe(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A call that runs when its service is unregistered goes on.
func TestUnregisterRunning(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Slow.Wait", func(context.Context, *Args) (*Product, error) {
			close(running)
			<-release
			return &Product{1}, nil
		})
	})
	c := w.dial(nil)
	call := c.Go(t.Context(), "Slow.Wait", &Args{}, new(Product), nil)
	<-running
	must(t, w.srv.Unregister("Slow"))
	close(release)
	must(t, (<-call.Done).Error)
}

// Registration, calls and listings go on at the same time.
func TestRegisterConcurrently(t *testing.T) {
	w := start(t, nil, nil)
	c := w.dial(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if err := w.srv.RegisterName("Other", Arith{}); err == nil {
					must(t, w.srv.Unregister("Other"))
				}
				w.srv.Describe()
				multiply(t, c)
			}
		})
	}
	wg.Wait()
}

func TestHandleErrors(t *testing.T) {
	s := weft.NewServer(nil)
	for _, err := range []error{
		weft.Handle[Args, Product](s, "A.B", nil),
		weft.HandleRaw(s, "A.B", nil),
		weft.HandleStream[Args, Product](s, "A.B", nil),
		weft.HandleServerStream[Args, Product](s, "A.B", nil),
		weft.HandleClientStream[Args, Product](s, "A.B", nil),
	} {
		wantError(t, err, weft.InvalidArgument, 0, "A.B", "the function is nil")
	}
	for _, name := range []string{"", "A", ".", "A.", ".B", "A B.C", "A.B\n", "A.\x7f", "A.\xff"} {
		wantError(t, weft.Handle(s, name, Arith{}.Mul), weft.InvalidArgument, 0)
	}
	must(t, weft.Handle(s, "A.B", Arith{}.Mul))
	wantError(t, weft.Handle(s, "A.B", Arith{}.Mul), weft.AlreadyExists, 0, "A.B")
}

// A handler that returns neither reply nor error says nothing: the caller is told.
func TestNeitherReplyNorError(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(
			weft.Handle(s, "Nil.Typed", func(context.Context, *Args) (*Product, error) { return nil, nil }),
			s.RegisterMethods("Nil", nilReply{}, map[string]string{"Get": "Reflected"}),
			weft.HandleClientStream(s, "Nil.Stream", func(context.Context, *weft.Receiver[Args]) (*Product, error) { return nil, nil }))
	})
	c := w.dial(nil)
	for _, name := range []string{"Nil.Typed", "Nil.Reflected"} {
		wantError(t, c.Call(t.Context(), name, &Args{}, nil), weft.Internal, weft.Executed, "neither a reply nor an error")
	}
	wantError(t, drainStream(t.Context(), c, "Nil.Stream"), weft.Internal, weft.Executed, "neither a reply nor an error")
}

type nilReply struct{}

func (nilReply) Get(context.Context, *Args) (*Product, error) { return nil, nil }
