package weft_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

type Args struct{ A, B int }
type Product struct{ C int }
type Arith struct{}

func (Arith) Mul(ctx context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil }
func (Arith) Add(a *Args, p *Product) error                     { p.C = a.A + a.B; return nil }
func (Arith) Div(ctx context.Context, a *Args, p *Product) error {
	if a.B == 0 {
		return weft.Errorf(weft.InvalidArgument, "division by zero").WithReason("ZERO")
	}
	p.C = a.A / a.B
	return nil
}
func (Arith) Count(ctx context.Context, a *Args, out *weft.Sender[Product]) error {
	for i := range a.A {
		if err := out.Send(&Product{i}); err != nil {
			return err
		}
	}
	return nil
}

func TestSmoke(t *testing.T) {
	srv := weft.NewServer(nil)
	if err := srv.Register(Arith{}); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(l)
	ctx := context.Background()
	c, err := weft.Dial(ctx, "tcp://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8})
	if err != nil || p.C != 56 {
		t.Fatal(p, err)
	}
	p, err = weft.Invoke[Product](ctx, c, "Arith.Add", &Args{7, 8})
	if err != nil || p.C != 15 {
		t.Fatal(p, err)
	}
	_, err = weft.Invoke[Product](ctx, c, "Arith.Div", &Args{7, 0})
	t.Log(err)
	if !errors.Is(err, weft.InvalidArgument) {
		t.Fatal(err)
	}
	_, err = weft.Invoke[Product](ctx, c, "Arith.Nope", &Args{7, 0})
	t.Log(err)
	st, err := weft.Subscribe[Product](ctx, c, "Arith.Count", &Args{A: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m, err := range st.All() {
		if err != nil {
			t.Fatal(err)
		}
		if m.C != n {
			t.Fatal(m, n)
		}
		n++
	}
	if n != 1000 {
		t.Fatal(n)
	}
	call := c.Go(ctx, "Arith.Mul", &Args{3, 4}, new(Product), nil)
	<-call.Done
	t.Log(call.Reply, call.Error)
	ctx2, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx2); err != nil {
		t.Fatal(err)
	}
	c.Close()
}
