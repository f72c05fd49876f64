package stub_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/stub"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

type number struct{ N int }

var errStop = errors.New("stop")

// upTo yields the numbers below n, and then err, if it is not nil.
func upTo(n int, err error) iter.Seq2[*number, error] {
	return func(yield func(*number, error) bool) {
		for i := range n {
			if !yield(&number{i}, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func sum(in iter.Seq2[*number, error]) (total int, err error) {
	for m, err := range in {
		if err != nil {
			return total, err
		}
		total += m.N
	}
	return total, nil
}

// connect starts a server with three streaming methods and dials it.
func connect(t *testing.T) *weft.Client {
	t.Helper()
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{network}})
	for _, err := range []error{
		weft.HandleServerStream(srv, "Numbers.Count", func(_ context.Context, req *number, out *weft.Sender[number]) error {
			if req.N < 0 {
				return stub.SendAll(out, upTo(3, weft.Errorf(weft.InvalidArgument, "negative")))
			}
			return stub.SendAll(out, upTo(req.N, nil))
		}),
		weft.HandleClientStream(srv, "Numbers.Sum", func(_ context.Context, in *weft.Receiver[number]) (*number, error) {
			total, err := sum(in.All())
			return &number{total}, err
		}),
		weft.HandleStream(srv, "Numbers.Echo", func(_ context.Context, s *weft.Stream[number, number]) error {
			return stub.SendAll(s, s.All())
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := srv.Listen(t.Context(), "mem://numbers")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }() // ends with the test
	c, err := weft.Dial(t.Context(), "mem://numbers", &weft.ClientConfig{Transports: []transport.Transport{network}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		srv.Close()
		<-ended
	})
	return c
}

func TestReceive(t *testing.T) {
	c := connect(t)
	if got, err := sum(stub.Receive[number](t.Context(), c, "Numbers.Count", &number{10})); got != 45 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := sum(stub.Receive[number](t.Context(), c, "Numbers.Count", &number{-1})); got != 3 || weft.CodeOf(err) != weft.InvalidArgument {
		t.Errorf("%d, %v", got, err)
	}
	for m, err := range stub.Receive[number](t.Context(), c, "Numbers.Count", &number{1 << 30}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.N == 5 {
			break // the call ends, or the test would not
		}
	}
	if _, err := sum(stub.Receive[number](t.Context(), c, "Numbers.None", &number{1})); weft.CodeOf(err) != weft.Unimplemented {
		t.Error(err)
	}
	if _, err := sum(stub.Receive[number](t.Context(), c, "Numbers.Count", (*number)(nil))); err == nil {
		t.Error("a nil request was sent")
	}
}

func TestSend(t *testing.T) {
	c := connect(t)
	if got, err := stub.Send[number](t.Context(), c, "Numbers.Sum", upTo(10, nil)); err != nil || got.N != 45 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := stub.Send[number](t.Context(), c, "Numbers.Sum", upTo(10, errStop)); !errors.Is(err, errStop) {
		t.Error(err)
	}
	if _, err := stub.Send[number](t.Context(), c, "Numbers.None", upTo(3, nil)); weft.CodeOf(err) != weft.Unimplemented {
		t.Error(err)
	}
}

func TestExchange(t *testing.T) {
	c := connect(t)
	if got, err := sum(stub.Exchange[number](t.Context(), c, "Numbers.Echo", upTo(1000, nil))); got != 499500 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := sum(stub.Exchange[number](t.Context(), c, "Numbers.Echo", upTo(10, errStop))); !errors.Is(err, errStop) {
		t.Error(err)
	}
	for m, err := range stub.Exchange[number](t.Context(), c, "Numbers.Echo", upTo(1<<30, nil)) {
		if err != nil {
			t.Fatal(err)
		}
		if m.N == 5 {
			break
		}
	}
}

// TestNilIterator gives calls, and a stream of a service, no iterator.
func TestNilIterator(t *testing.T) {
	c := connect(t)
	_, err := stub.Send[number](t.Context(), c, "Numbers.Sum", iter.Seq2[*number, error](nil))
	_, err2 := sum(stub.Exchange[number](t.Context(), c, "Numbers.Echo", iter.Seq2[*number, error](nil)))
	for _, err := range []error{err, err2} {
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent || e.Message != "the iterator over the messages is nil" {
			t.Errorf("a nil iterator in a call: %v", err)
		}
	}
	if err := stub.SendAll(new(weft.Sender[number]), nil); weft.CodeOf(err) != weft.Internal {
		t.Errorf("a nil iterator of a service: %v", err)
	}
}
