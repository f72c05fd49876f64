// Command rpcx shows how a fleet of rpcx becomes one of weft: an old server and a new one, called by one client.
//
// The old server is played by a weft server that is called by rpcx's wire alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	doorrpcx "github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/registry/memory"
	"github.com/weftrpc/weft/registry/rpcx"
)

// Args and Quotient are as a program with rpcx has them.
type (
	Args     struct{ A, B int }
	Quotient struct {
		Quo int
		By  string
	}
)

// Arith has the shape of rpcx's methods.
type Arith struct{ name string }

// Div divides.
func (a Arith) Div(ctx context.Context, args *Args, reply *Quotient) error {
	if args.B == 0 {
		return weft.Errorf(weft.InvalidArgument, "divide by zero")
	}
	*reply = Quotient{args.A / args.B, a.name}
	if peer := weft.PeerFrom(ctx); peer.Wire() == doorrpcx.Name {
		return peer.Notify(ctx, "News.Divided", args)
	}
	return nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	old, err := start(ctx, "old")
	check(err)
	fresh, err := start(ctx, "new")
	check(err)

	// A client of weft on rpcx's wire, as to an rpcx server. Clients of rpcx call the same port.
	news := make(chan string, 1)
	wire := doorrpcx.Wire(&doorrpcx.WireConfig{OnMessage: func(m *doorrpcx.Message) {
		var args Args
		err := m.Decode(&args)
		select {
		case news <- fmt.Sprint(m.Method, " ", args, " ", err):
		default:
		}
	}})
	clientConfig := &weft.ClientConfig{Wires: []weft.Wire{wire}}
	c, err := weft.Dial(ctx, "rpcx://"+old, clientConfig)
	check(err)
	defer c.Close()
	q, err := weft.Invoke[Quotient](ctx, c, "Arith.Div", &Args{17, 8})
	check(err)
	fmt.Println("by", c.Peer().Wire()+":", q.Quo, "from the", q.By, "server")
	fmt.Println("a message of the server:", <-news)
	_, err = weft.Invoke[Quotient](ctx, c, "Arith.Div", &Args{1, 0})
	fmt.Println("an error keeps its code:", errors.Is(err, weft.InvalidArgument))

	// Both servers in a registry: the old one as rpcx's plugin has written it. With etcd, ZooKeeper, Consul or Redis
	// NewRpcx of the package of the registry reads that itself.
	reg, err := memory.New(nil)
	check(err)
	defer reg.Close()
	published, err := rpcx.Decode("Arith", "tcp@"+old, []byte("weight=100&group=blue"))
	check(err)
	for _, i := range []weft.Instance{published, {Service: "Arith", ID: "new", Address: "tcp://" + fresh, Group: "blue"}} {
		_, err := reg.Register(i)
		check(err)
	}
	fleet, err := cluster.New(&cluster.Config{Registry: reg, Group: "blue", Client: clientConfig, Balancer: balance.RoundRobin()})
	check(err)
	defer fleet.Close()
	by := make(map[string]int)
	for len(by) < 2 || by["old"]+by["new"] < 20 {
		q, err := weft.Invoke[Quotient](ctx, fleet, "Arith.Div", &Args{17, 8})
		check(err)
		by[q.By]++
	}
	fmt.Println("both answer:", by["old"] > 0 && by["new"] > 0)
}

// start starts a server that speaks weft's wire and rpcx's, and returns where.
func start(ctx context.Context, name string) (address string, err error) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{doorrpcx.Door(nil)}})
	if err := srv.Register(Arith{name}); err != nil {
		return "", err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go srv.Serve(l) // until the program ends
	return l.Addr().String(), nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
