package weft_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

func TestMethodOptions(t *testing.T) {
	s := weft.NewServices()
	must(t, s.Register(Arith{}, weft.Doc("arithmetic"), weft.For("Mul", weft.Idempotent(), weft.Doc("multiplies"), weft.Annotate("http", "GET /mul"))))
	must(t, weft.Handle(s, "Slow.Call", func(context.Context, *Args) (*Product, error) { return &Product{}, nil }, weft.MethodTimeout(time.Second)))
	got := map[string]weft.MethodInfo{}
	for _, service := range s.Describe() {
		for _, m := range service.Methods {
			got[m.Name] = m
		}
	}
	mul := got["Arith.Mul"]
	if !mul.Idempotent || mul.Doc != "multiplies" || !reflect.DeepEqual(mul.Annotations, map[string]string{"http": "GET /mul"}) {
		t.Errorf("Arith.Mul: %+v", mul)
	}
	if div := got["Arith.Div"]; div.Idempotent || div.Doc != "arithmetic" || div.Annotations != nil {
		t.Errorf("Arith.Div: %+v", div)
	}
	if got["Slow.Call"].Timeout != time.Second {
		t.Errorf("Slow.Call: %+v", got["Slow.Call"])
	}
}

func TestWrongMethodOptions(t *testing.T) {
	s := weft.NewServices()
	fn := func(context.Context, *Args) (*Product, error) { return nil, nil }
	wantError(t, weft.Handle(s, "A.B", fn, weft.MethodTimeout(-1)), weft.InvalidArgument, 0, "timeout of a method is -1ns")
	wantError(t, weft.Handle(s, "A.B", fn, nil), weft.InvalidArgument, 0, "method option 0 is nil")
	wantError(t, weft.Handle(s, "A.B", fn, weft.Annotate("", "x")), weft.InvalidArgument, 0, "key of an annotation is empty")
	wantError(t, weft.Handle(s, "A.B", fn, weft.For("B")), weft.InvalidArgument, 0, "For is an option of Register")
	wantError(t, s.Register(Arith{}, weft.For("Missing", weft.Idempotent())), weft.InvalidArgument, 0, "options for method Missing")
	if len(s.Describe()) != 0 {
		t.Errorf("something was registered: %v", s.Describe())
	}
}

// The timeout of a method ends its handlers' contexts, however long the caller waits, by
// every way through the server.
func TestMethodTimeout(t *testing.T) {
	for name, cfg := range map[string]*weft.ServerConfig{"short way": nil, "long way": {Hooks: []any{new(everyHook)}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, cfg, func(s *weft.Server) error {
					return weft.Handle(s, "Slow.Call", func(ctx context.Context, _ *Args) (*Product, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					}, weft.MethodTimeout(time.Second))
				})
				c := w.dial(nil)
				began := time.Now()
				wantError(t, c.Call(t.Context(), "Slow.Call", &Args{}, nil, weft.WithTimeout(time.Hour)), weft.DeadlineExceeded, weft.Executed)
				if took := time.Since(began); took < time.Second || took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// Types that no codec can carry are refused when they are registered.
func TestTypesThatCannotTravel(t *testing.T) {
	type inner struct{ Notify chan int }
	type outer struct {
		Name  string
		Parts []map[string]*inner
	}
	type fine struct {
		Done  chan int `msgpack:"-"`
		at    func()
		When  time.Time
		Again *fine
	}
	s := weft.NewServices()
	err := weft.Handle(s, "A.B", func(context.Context, *outer) (*Product, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "handle A.B", "it holds a chan in field Parts.Notify")
	err = weft.Handle(s, "A.B", func(context.Context, *Args) (*struct{ F func() }, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "it holds a func in field F")
	type twice struct {
		A int `weft:"1"`
		B int `weft:"1"`
	}
	type half struct {
		A int `weft:"1"`
		B int
	}
	err = weft.Handle(s, "A.B", func(context.Context, *twice) (*Product, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "cannot travel", "twice")
	err = weft.Handle(s, "A.B", func(context.Context, *Args) (*half, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "half.B has no field number")
	type negative struct {
		A int `weft:"-1"`
	}
	err = weft.Handle(s, "A.B", func(context.Context, *Args) (*negative, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "negative.A has no field number")
	must(t, weft.Handle(s, "A.B", func(context.Context, *fine) (*fine, error) { return &fine{at: nil}, nil }))
}

// TestCollidingNames registers a struct of which two fields have one number in Protocol Buffers: its
// messages could not be told apart by gRPC's clients.
func TestCollidingNames(t *testing.T) {
	type colliding struct {
		F2308 int
		F2924 string
	}
	err := weft.Handle(weft.NewServices(), "S.M", func(context.Context, *colliding) (*struct{}, error) { return nil, nil })
	wantError(t, err, weft.InvalidArgument, 0, "F2308 and of F2924 is")
}
