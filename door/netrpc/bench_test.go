package netrpc_test

import (
	"context"
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
)

// Order is the message of the benchmark.
type Order struct {
	ID       int64
	Customer string
	Items    []string
	Price    float64
}

// Shop is the service of the benchmark.
type Shop struct{}

// Place returns its order.
func (Shop) Place(o, reply *Order) error {
	*reply = *o
	return nil
}

// BenchmarkCalls compares both directions with the standard library, which is both ends
// of "standard". All callers share one connection.
func BenchmarkCalls(b *testing.B) {
	order := &Order{4711, "Ada Lovelace", []string{"tea", "milk", "sugar"}, 12.5}
	standard := standardServer(b)
	served := weftServer(b)
	for _, callers := range []int{1, 100} {
		for _, pair := range []struct {
			name string
			call func() (call func() error, end func() error)
		}{
			{"standard", func() (func() error, func() error) { return standardClient(b, standard, order) }},
			{"door", func() (func() error, func() error) { return standardClient(b, served, order) }},
			{"wire", func() (func() error, func() error) { return weftClient(b, standard, order) }},
			{"wire to door", func() (func() error, func() error) { return weftClient(b, served, order) }},
		} {
			b.Run(fmt.Sprintf("%s/callers=%d", pair.name, callers), func(b *testing.B) {
				call, end := pair.call()
				defer end()
				b.ReportAllocs()
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						for n := i; n < b.N; n += callers {
							if err := call(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

func standardServer(b *testing.B) string {
	srv := rpc.NewServer()
	if err := srv.Register(Shop{}); err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { srv.ServeConn(conn) })
		}
	})
	b.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func weftServer(b *testing.B) string {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}})
	if err := srv.Register(Shop{}); err != nil {
		b.Fatal(err)
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	b.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func standardClient(b *testing.B, addr string, order *Order) (call, end func() error) {
	c, err := rpc.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	return func() error { return c.Call("Shop.Place", order, new(Order)) }, c.Close
}

func weftClient(b *testing.B, addr string, order *Order) (call, end func() error) {
	c, err := weft.Dial(context.Background(), "netrpc://"+addr, &weft.ClientConfig{Wires: []weft.Wire{netrpc.Wire()}})
	if err != nil {
		b.Fatal(err)
	}
	return func() error { return c.Call(context.Background(), "Shop.Place", order, new(Order)) }, c.Close
}
