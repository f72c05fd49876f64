package doctest

import (
	"context"
	"fmt"
	"net"
	"net/rpc"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

// OldArith is the service of a program with net/rpc.
type OldArith struct{}

// Multiply is a method in the shape of net/rpc.
func (*OldArith) Multiply(args *Args, reply *int) error {
	*reply = args.A * args.B
	return nil
}

// TestFromNetRPC runs the code of docs/guide/from-net-rpc.md.
func TestFromNetRPC(t *testing.T) {
	check := func(err error) { t.Helper(); must(t, err) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	old := rpc.NewServer()
	check(old.Register(new(OldArith)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ended := make(chan struct{})
	go func() { // ends with the listener
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			old.ServeConn(conn)
		}
	}()
	oldServer := l.Addr().String()

	c, err := weft.Dial(ctx, "netrpc://"+oldServer, &weft.ClientConfig{Wires: []weft.Wire{netrpc.Wire()}})
	check(err)
	var product int
	check(c.Call(ctx, "OldArith.Multiply", &Args{6, 7}, &product))

	if product != 42 {
		t.Errorf("the product is %d", product)
	}
	check(c.Close())
	check(l.Close())
	<-ended

	address := "tcp://" + oldServer // the port is free now
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}})
	check(srv.Register(new(OldArith))) // func (*OldArith) Multiply(args *Args, reply *int) error
	go srv.ListenAndServe(ctx, address)

	client := dialOld(t, oldServer)
	if err := client.Call("OldArith.Multiply", &Args{6, 7}, &product); err != nil || product != 42 {
		t.Errorf("%v, %v", product, err)
	}
	if p := srv.Peers(); len(p) != 1 || p[0].Wire() != "netrpc" {
		t.Errorf("the peers are %v", p)
	}
	check(client.Close())
	check(srv.Shutdown(t.Context()))
}

// dialOld connects to a server that is about to listen.
func dialOld(t *testing.T, address string) *rpc.Client {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		client, err := rpc.Dial("tcp", address)
		if err == nil {
			return client
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// Durations is a service as a program with grpc-go has it.
type Durations struct{}

// Double doubles.
func (Durations) Double(_ context.Context, d *durationpb.Duration) (*durationpb.Duration, error) {
	return durationpb.New(2 * d.AsDuration()), nil
}

// TestFromGRPC runs the code of docs/guide/from-grpc.md.
func TestFromGRPC(t *testing.T) {
	check := func(err error) { t.Helper(); must(t, err) }
	ctx := t.Context()

	srv := weft.NewServer(nil)
	check(srv.RegisterName("shop.Durations", Durations{})) // func (Durations) Double(ctx, *durationpb.Duration) (*durationpb.Duration, error)
	check(weft.HandleServerStream(srv, "shop.Durations.Times",
		func(_ context.Context, d *durationpb.Duration, out *weft.Sender[durationpb.Duration]) error {
			for n := range 3 {
				if err := out.Send(durationpb.New(d.AsDuration() * time.Duration(n+1))); err != nil {
					return err
				}
			}
			return nil
		}))

	c, err := weft.Dial(ctx, serve(t, srv), nil)
	check(err)
	defer c.Close()

	d, err := weft.Invoke[durationpb.Duration](ctx, c, "shop.Durations.Double", durationpb.New(time.Second))
	check(err)
	times, err := weft.Subscribe[durationpb.Duration](ctx, c, "shop.Durations.Times", d)
	check(err)
	for d, err := range times.All() {
		fmt.Println(d.AsDuration(), err)
	}

	if d.AsDuration() != 2*time.Second {
		t.Errorf("the double is %v", d.AsDuration())
	}
}

// TestFromRpcx runs the code of docs/guide/from-rpcx.md.
func TestFromRpcx(t *testing.T) {
	check := func(err error) { t.Helper(); must(t, err) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var product Product
	yes := true
	reg, err := memory.New(nil)
	check(err)

	srv := weft.NewServer(&weft.ServerConfig{
		Registry: reg, Instance: weft.Instance{Weight: 200, Group: "blue"},
		Doors: []weft.Door{rpcx.Door(nil)}, // clients of rpcx call the same port
	})
	check(srv.Register(Arith{}))
	go srv.ListenAndServe(ctx, "tcp://127.0.0.1:0")

	waitForServer(t, reg)

	xclient, err := cluster.New(&cluster.Config{
		Registry: reg, Group: "blue", FailMode: cluster.Failover, Balancer: balance.WeightedRoundRobin(),
		Client:  &weft.ClientConfig{Wires: []weft.Wire{rpcx.Wire(nil)}}, // for servers of rpcx
		Methods: map[string]route.Method{"Arith.Mul": {Timeout: 500 * time.Millisecond, Idempotent: &yes}},
	})
	check(err)
	check(xclient.Call(ctx, "Arith.Mul", &Args{6, 7}, &product))

	if product.C != 42 {
		t.Errorf("the product is %d", product.C)
	}
	check(xclient.Close())
	check(srv.Shutdown(t.Context()))
	check(reg.Close())
}

// waitForServer waits until a server of Arith answers that was found in a registry.
func waitForServer(t *testing.T, reg *registry.Registry) {
	t.Helper()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	must(t, err)
	defer c.Close()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		err := c.Call(t.Context(), "Arith.Mul", &Args{1, 1}, nil)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
