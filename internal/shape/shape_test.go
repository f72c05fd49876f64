package shape_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/shape"
)

func TestMain(m *testing.M) { leak.Main(m) }

type (
	args   struct{ A, B int }
	Sum    struct{ C int }
	out    struct{ end shape.End } // a stream whose handler sends
	in     struct{ end shape.End } // a stream whose handler receives
	Hidden struct{ F func() }
)

// Pair is a message.
type Pair struct{ A, B int }

var errNoReply = errors.New("no reply")

func rules() *shape.Rules {
	return &shape.Rules{
		Stream: func(t reflect.Type) (shape.Stream, bool) {
			switch t {
			case reflect.TypeFor[*out]():
				return shape.Stream{Kind: "server stream", Request: true, Out: reflect.TypeFor[Sum](),
					Attach: func(param any, end shape.End) { param.(*out).end = end }}, true
			case reflect.TypeFor[*in]():
				return shape.Stream{Kind: "client stream", Reply: true, In: reflect.TypeFor[Pair](),
					Attach: func(param any, end shape.End) { param.(*in).end = end }}, true
			}
			return shape.Stream{}, false
		},
		Receive: func(end shape.End, msg, _ any) error { return end.Recv(msg) },
		NoReply: func() error { return errNoReply },
	}
}

// messages are a stream of pairs, and what was sent on it.
type messages struct {
	come []Pair
	sent []int
}

func (m *messages) Send(msg any) error {
	m.sent = append(m.sent, msg.(*Sum).C)
	return nil
}

func (m *messages) Recv(msg any) error {
	if len(m.come) == 0 {
		return errors.New("the end")
	}
	*msg.(*Pair) = m.come[0]
	m.come = m.come[1:]
	return nil
}

func of(t *testing.T, f any) *shape.Method {
	t.Helper()
	m, near := rules().Of(reflect.ValueOf(f))
	if m == nil {
		t.Fatalf("%T does not fit: %q", f, near)
	}
	return m
}

func TestUnary(t *testing.T) {
	for _, f := range []any{
		func(_ context.Context, p *Pair) (*Sum, error) { return &Sum{p.A + p.B}, nil },
		func(_ context.Context, p Pair) (Sum, error) { return Sum{p.A + p.B}, nil },
		func(_ context.Context, p *Pair, s *Sum) error { s.C = p.A + p.B; return nil },
		func(p Pair, s *Sum) error { s.C = p.A + p.B; return nil },
	} {
		m := of(t, f)
		if m.Kind != nil || m.In != reflect.TypeFor[Pair]() || m.Out != reflect.TypeFor[Sum]() {
			t.Errorf("%T: %+v", f, m)
		}
		req := m.New().(*Pair)
		*req = Pair{3, 4}
		if got, err := m.Call(t.Context(), req); err != nil || got.(*Sum).C != 7 {
			t.Errorf("%T: %v, %v", f, got, err)
		}
	}
	if _, err := of(t, func(context.Context, *Pair) (*Sum, error) { return nil, nil }).Call(t.Context(), &Pair{}); !errors.Is(err, errNoReply) {
		t.Errorf("neither a reply nor an error gives %v", err)
	}
	failed := errors.New("failed")
	if _, err := of(t, func(*Pair, *Sum) error { return failed }).Call(t.Context(), &Pair{}); !errors.Is(err, failed) {
		t.Errorf("an error of the method is returned as %v", err)
	}
}

func TestStreams(t *testing.T) {
	m := of(t, func(_ context.Context, p Pair, o *out) error {
		return errors.Join(o.end.Send(&Sum{p.A}), o.end.Send(&Sum{p.B}))
	})
	end := &messages{come: []Pair{{1, 2}}}
	if err := m.Stream(t.Context(), end); err != nil || !slices.Equal(end.sent, []int{1, 2}) || m.In != reflect.TypeFor[Pair]() {
		t.Errorf("%v, %v was sent", err, end.sent)
	}
	if err := m.Stream(t.Context(), &messages{}); err == nil {
		t.Error("a stream without its request gives no error")
	}
	m = of(t, func(_ context.Context, i *in) (*Sum, error) {
		var p Pair
		err := i.end.Recv(&p)
		return &Sum{p.A * p.B}, err
	})
	end = &messages{come: []Pair{{6, 7}}}
	if err := m.Stream(t.Context(), end); err != nil || !slices.Equal(end.sent, []int{42}) || m.Out != reflect.TypeFor[Sum]() {
		t.Errorf("%v, %v was sent", err, end.sent)
	}
}

func TestNear(t *testing.T) {
	for _, tt := range []struct {
		f    any
		want string // "" for a method that was never meant
	}{
		{func() string { return "" }, ""},
		{func(string) error { return nil }, ""},
		{func(context.Context) error { return nil }, ""},
		{func(context.Context, *Pair) *Sum { return nil }, "its last result is not an error"},
		{func(context.Context, *Pair, ...int) error { return nil }, "variable number"},
		{func(*Pair) (*Sum, error) { return nil, nil }, "the context must come first"},
		{func(context.Context, *Pair, Sum) error { return nil }, "want a pointer"},
		{func(context.Context, *Pair) error { return nil }, "takes 1 arguments beside the context"},
		{func(context.Context, *Pair, *Pair) (*Sum, error) { return nil, nil }, "takes 2 arguments beside the context, want 1"},
		{func(context.Context, *args, *Sum) error { return nil }, "cannot travel: it is not exported"},
		{func(context.Context, *Hidden, *Sum) error { return nil }, "it holds a func in field F"},
		{func(*Pair, *out) error { return nil }, "it has a stream and no context"},
		{func(context.Context, *out) error { return nil }, "a server stream takes the context, 1 argument(s), and the stream last"},
		{func(context.Context, *in) error { return nil }, "a client stream returns 2 result(s)"},
	} {
		m, near := rules().Of(reflect.ValueOf(tt.f))
		if m != nil || (tt.want == "") != (near == "") || !strings.Contains(near, tt.want) {
			t.Errorf("%T: %v, %q, want %q", tt.f, m, near, tt.want)
		}
	}
}
