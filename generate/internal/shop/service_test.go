package shop

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// orders is an Orders and a Flows.
type orders struct{ all []*Order }

func (o *orders) Put(_ context.Context, req *Order) (*Order, error) {
	if req.ID < 0 {
		return nil, weft.Errorf(weft.InvalidArgument, "negative")
	}
	kept := &Order{ID: int64(len(o.all)), Text: req.Text}
	o.all = append(o.all, kept)
	return kept, nil
}

func (o *orders) Fill(_ context.Context, req, res *Order) error { res.ID = req.ID + 1; return nil }

func (o *orders) Copy(_ context.Context, req, res *Order) error {
	if req.ID < 0 {
		return weft.Errorf(weft.NotFound, "nothing")
	}
	*res = *req
	return nil
}

func (o *orders) List(_ context.Context, req *Query) iter.Seq2[*Order, error] {
	return func(yield func(*Order, error) bool) {
		for i := range req.N {
			if !yield(&Order{ID: i}, nil) {
				return
			}
		}
	}
}

func (o *orders) PutAll(_ context.Context, in iter.Seq2[*Order, error]) (*Query, error) {
	n := int64(0)
	for order, err := range in {
		if err != nil {
			return nil, err
		}
		n += order.ID
	}
	return &Query{n}, nil
}

func (o *orders) Swap(_ context.Context, in iter.Seq2[*Order, error]) iter.Seq2[*Order, error] {
	return func(yield func(*Order, error) bool) {
		for order, err := range in {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&Order{ID: -order.ID}, nil) {
				return
			}
		}
	}
}

func (o *orders) When(_ context.Context, req *time.Time) (*time.Duration, error) {
	d := req.Sub(time.Unix(0, 0))
	return &d, nil
}

// numbers yields orders with the numbers below n.
func numbers(n int64) iter.Seq2[*Order, error] {
	return new(orders).List(context.Background(), &Query{n})
}

// exercise uses a service, whichever it is.
func exercise(t *testing.T, s Orders, f Flows) {
	ctx := t.Context()
	for i := range int64(3) {
		if o, err := s.Put(ctx, &Order{Text: "x"}); err != nil || o.ID != i || o.Text != "x" {
			t.Errorf("Put: %+v, %v", o, err)
		}
	}
	if _, err := s.Put(ctx, &Order{ID: -1}); weft.CodeOf(err) != weft.InvalidArgument {
		t.Errorf("Put: %v", err)
	}
	res := new(Order)
	if err := s.Fill(ctx, &Order{ID: 6}, res); err != nil || res.ID != 7 {
		t.Errorf("Fill: %+v, %v", res, err)
	}
	if err := s.Copy(ctx, &Order{ID: 6, Text: "y"}, res); err != nil || res.Text != "y" {
		t.Errorf("Copy: %+v, %v", res, err)
	}
	if err := s.Copy(ctx, &Order{ID: -1}, res); weft.CodeOf(err) != weft.NotFound {
		t.Errorf("Copy: %v", err)
	}
	sum := int64(0)
	for o, err := range s.List(ctx, &Query{10}) {
		if err != nil {
			t.Fatal(err)
		}
		sum += o.ID
	}
	if sum != 45 {
		t.Errorf("List: %d", sum)
	}
	if q, err := f.PutAll(ctx, numbers(10)); err != nil || q.N != 45 {
		t.Errorf("PutAll: %+v, %v", q, err)
	}
	for o, err := range f.Swap(ctx, numbers(10)) {
		if err != nil {
			t.Fatal(err)
		}
		sum += o.ID
	}
	if sum != 0 {
		t.Errorf("Swap: %d", sum)
	}
	at := time.Unix(5, 0)
	if d, err := s.When(ctx, &at); err != nil || *d != 5*time.Second {
		t.Errorf("When: %v, %v", d, err)
	}
}

// TestInterchangeable uses the service and a client of it in the same way.
func TestInterchangeable(t *testing.T) {
	t.Run("service", func(t *testing.T) { exercise(t, new(orders), new(orders)) })
	t.Run("client", func(t *testing.T) {
		c, srv := connect(t)
		exercise(t, NewOrdersClient(c).With(weft.WithTimeout(time.Minute)), NewFlowsClient(c))
		for _, s := range srv.Describe() {
			for _, m := range s.Methods {
				if m.Idempotent != (m.Name == "Orders.Put") {
					t.Errorf("%s: idempotent is %v", m.Name, m.Idempotent)
				}
				if m.Name == "Orders.Fill" && m.Doc != "Fill fills the reply in." {
					t.Errorf("%s: %q", m.Name, m.Doc)
				}
			}
		}
		q, err := NewNamedClient(c).Get(t.Context(), &Query{3})
		if err != nil || q.N != 3 {
			t.Errorf("%v, %v", q, err)
		}
	})
	if err := RegisterOrders(weft.NewServices(), nil); err == nil {
		t.Error("a nil service was registered")
	}
}

type named struct{}

func (named) Get(_ context.Context, q *Query) (*Query, error) { return q, nil }

func connect(t *testing.T) (*weft.Client, *weft.Server) {
	t.Helper()
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{network}})
	if err := errors.Join(RegisterOrders(srv, new(orders)), RegisterFlows(srv, new(orders)), RegisterNamed(srv, named{})); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "mem://shop")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }() // ends with the test
	c, err := weft.Dial(t.Context(), "mem://shop", &weft.ClientConfig{Transports: []transport.Transport{network}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		srv.Close()
		<-ended
	})
	return c, srv
}
