// Grpcwire compares the processor time of a call by gRPC's wire: grpc-go's client with grpc-go's
// server and with weft's door, and weft's wire with weft's door, with the same generated protobuf code, in turns.
// Servers are processes of their own.
//
//	go run ./grpcwire -callers 1,100,1000 -rounds 5 -calls 40000
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
)

const path = "/bench.Echo/Say"

func main() {
	serve := flag.String("serve", "", "serve as \"weft\" or \"grpc-go\", for the program itself")
	callers := flag.String("callers", "1,100,1000", "how many goroutines call, a list")
	rounds := flag.Int("rounds", 5, "how often each pair is measured")
	calls := flag.Int("calls", 40000, "calls of one measurement")
	flag.Parse()
	var err error
	if *serve != "" {
		err = server(*serve)
	} else {
		err = compare(strings.Split(*callers, ","), *rounds, *calls)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// used is the processor time that the process has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// server serves, says where, and answers each line of its input with the processor time used.
func server(kind string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	switch kind {
	case "grpc-go":
		s := grpc.NewServer(grpc.ForceServerCodecV2(vtCodec{}))
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Say",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := new(vt.BenchmarkMessage)
				return in, decode(in)
			}}}}, nil)
		// It ends with the process.
		go func() { _ = s.Serve(l) }()
	case "weft":
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{weftgrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
		err := weft.Handle(srv, "bench.Echo.Say", func(_ context.Context, m *vt.BenchmarkMessage) (*vt.BenchmarkMessage, error) { return m, nil })
		if err != nil {
			return err
		}
		// It ends with the process.
		go func() { _ = srv.Serve(l) }()
	default:
		return fmt.Errorf("there is no server %q", kind)
	}
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(int64(used()))
	}
	return nil
}

// caller makes calls on one connection.
type caller struct {
	call  func(ctx context.Context, in, out *vt.BenchmarkMessage) error
	close func() error
}

func dial(kind, addr string) (caller, error) {
	if kind == "grpc-go" {
		c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(vtCodec{})))
		if err != nil {
			return caller{}, err
		}
		return caller{func(ctx context.Context, in, out *vt.BenchmarkMessage) error { return c.Invoke(ctx, path, in, out) }, c.Close}, nil
	}
	scheme, wires := "tcp://", []weft.Wire(nil)
	if kind == "weft" {
		scheme, wires = "grpc://", []weft.Wire{weftgrpc.Wire(nil)}
	}
	c, err := weft.Dial(context.Background(), scheme+addr, &weft.ClientConfig{Wires: wires})
	if err != nil {
		return caller{}, err
	}
	return caller{func(ctx context.Context, in, out *vt.BenchmarkMessage) error {
		return c.Call(ctx, "bench.Echo.Say", in, out)
	}, c.Close}, nil
}

// cost is the processor time of a call, on the server and on both ends, in microseconds.
type cost struct{ server, both float64 }

// measure runs one server and makes calls of it.
func measure(server, client string, callers, calls int) (c cost, err error) {
	cmd := exec.Command(os.Args[0], "-serve", server)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return c, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	if err := cmd.Start(); err != nil {
		return c, err
	}
	defer func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return c, io.ErrUnexpectedEOF
	}
	d, err := dial(client, lines.Text())
	if err != nil {
		return c, err
	}
	defer func() { _ = d.close() }()
	of := func() (time.Duration, error) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			return 0, err
		}
		if !lines.Scan() {
			return 0, io.ErrUnexpectedEOF
		}
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		return time.Duration(n), err
	}
	if err := load(d, callers, calls/4); err != nil { // to warm up
		return c, err
	}
	before, err := of()
	if err != nil {
		return c, err
	}
	own := used()
	if err := load(d, callers, calls); err != nil {
		return c, err
	}
	own = used() - own
	after, err := of()
	if err != nil {
		return c, err
	}
	c.server = float64(after-before) / float64(calls) / 1e3
	c.both = c.server + float64(own)/float64(calls)/1e3
	return c, nil
}

// load makes calls with a deadline each.
func load(d caller, callers, calls int) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		wg.Go(func() {
			in := msg.NewVT()
			for next.Add(1) <= int64(calls) {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				out := new(vt.BenchmarkMessage)
				err := d.call(ctx, in, out)
				cancel()
				if err == nil && out.GetField1() != in.GetField1() {
					err = fmt.Errorf("the reply is another one")
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func compare(callers []string, rounds, calls int) error {
	pairs := [][2]string{{"grpc-go", "grpc-go"}, {"weft", "grpc-go"}, {"weft", "weft"}, {"weft", "native"}}
	fmt.Println("callers  server   client   server µs  both µs  of grpc-go's server  of grpc-go at both ends")
	for _, text := range callers {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		all := make([][]cost, len(pairs))
		for range rounds {
			for i, p := range pairs {
				c, err := measure(p[0], p[1], n, calls)
				if err != nil {
					return fmt.Errorf("%s with %s: %w", p[1], p[0], err)
				}
				all[i] = append(all[i], c)
			}
		}
		base := median(all[0])
		for i, p := range pairs {
			c := median(all[i])
			fmt.Printf("%7d  %-7s  %-7s  %9.1f  %7.1f  %19.2f  %23.2f\n", n, p[0], p[1], c.server, c.both, c.server/base.server, c.both/base.both)
		}
	}
	return nil
}

func median(all []cost) cost {
	pick := func(of func(cost) float64) float64 {
		var v []float64
		for _, c := range all {
			v = append(v, of(c))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return cost{pick(func(c cost) float64 { return c.server }), pick(func(c cost) float64 { return c.both })}
}

// vtCodec is vtprotobuf's code for grpc-go.
type vtCodec struct{}

var _ encoding.CodecV2 = vtCodec{}

func (vtCodec) Name() string { return "proto" }

func (vtCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, err := v.(*vt.BenchmarkMessage).MarshalVT()
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (vtCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	return v.(*vt.BenchmarkMessage).UnmarshalVT(b.ReadOnlyData())
}
