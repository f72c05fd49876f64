package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
	"github.com/weftrpc/weft/internal/cputime"
)

// The servers.
const (
	library = "thrift-go"
	lighter = "thrift-go without its check of connections"
	weftGen = "weft, generated structs"
	weftOwn = "weft, plain structs"
)

func servers() []string { return []string{library, lighter, weftGen, weftOwn} }

// runServer runs a server until its standard input ends. For each line it tells the processor time
// that it has used.
func runServer(name string, d dialect) error {
	var stop func()
	var addr string
	var err error
	if name == library || name == lighter {
		if name == lighter {
			apache.ServerConnectivityCheckInterval = 0
		}
		addr, stop, err = runLibrary(d)
	} else {
		addr, stop, err = runWeft(name == weftGen)
	}
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println(addr)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(cputime.Used().Nanoseconds())
	}
	return nil
}

// demo is the service of the library's server.
type demo struct{}

func (demo) Add(_ context.Context, a, b int32) (int32, error) { return a + b, nil }

func (demo) Echo(_ context.Context, e *stock.Everything) (*stock.Everything, error) { return e, nil }

func (demo) Get(context.Context, int32) (string, error) { return "", nil }

func (demo) Tell(context.Context, string) error { return nil }

func (demo) Ping(context.Context) error { return nil }

func runLibrary(d dialect) (addr string, stop func(), err error) {
	socket, err := apache.NewTServerSocket("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	if err := socket.Listen(); err != nil {
		return "", nil, err
	}
	transport, protocol := d.factories()
	srv := apache.NewTSimpleServer4(stock.NewDemoProcessor(demo{}), socket, transport, protocol)
	// It ends with the process.
	go func() { _ = srv.Serve() }()
	return socket.Addr().String(), func() {}, nil
}

// The structs of stock.thrift without generated code.
type (
	inner struct {
		Name string `thrift:"name,1"`
		N    int32  `thrift:"n,2,required"`
	}
	everything struct {
		B      bool               `thrift:"b,1"`
		Y      int8               `thrift:"y,2"`
		S      int16              `thrift:"s,3"`
		I      int32              `thrift:"i,4"`
		L      int64              `thrift:"l,5"`
		D      float64            `thrift:"d,6"`
		T      string             `thrift:"t,7"`
		Raw    []byte             `thrift:"raw,8"`
		Nums   []int32            `thrift:"nums,9"`
		Tags   []string           `thrift:"tags,10,set"`
		Inners map[string]*inner  `thrift:"inners,11"`
		Inner  *inner             `thrift:"inner,12"`
		Opt    *int64             `thrift:"opt,13"`
		Color  int32              `thrift:"color,14"`
		Flags  []bool             `thrift:"flags,15"`
		Deep   map[int32][]string `thrift:"deep,16"`
		Ob     *bool              `thrift:"ob,18"`
		Oi     []*inner           `thrift:"oi,19,optional"`
	}
)

func runWeft(generated bool) (addr string, stop func(), err error) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	if generated {
		err = weft.Handle(srv, "Demo.echo", func(_ context.Context, e *stock.Everything) (*stock.Everything, error) { return e, nil })
	} else {
		err = weft.Handle(srv, "Demo.echo", func(_ context.Context, e *everything) (*everything, error) { return e, nil }, thrift.Parameter("e"))
	}
	if err != nil {
		return "", nil, err
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	// It ends with the process.
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), func() { _ = srv.Close() }, nil
}
