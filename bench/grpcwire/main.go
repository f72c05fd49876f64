// Grpcwire compares the processor time of a call by gRPC's wire: grpc-go's client with grpc-go's
// server and with weft's door, and weft's wire with weft's door, with the same generated protobuf code, in turns.
// Servers are processes of their own. With -tls the connections have TLS; with -stream each call gets so many messages
// from the server, and the times are those of a message.
//
//	go run ./grpcwire -callers 1,100,1000 -rounds 5 -calls 40000
//	go run ./grpcwire -callers 100 -tls
//	go run ./grpcwire -callers 10 -stream 1000 -calls 200
package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/big"
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
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
)

// The paths of the methods.
const (
	path     = "/bench.Echo/Say"
	flowPath = "/bench.Echo/Flow"
)

// options are what each measurement has in common.
type options struct {
	tls    bool
	stream int // messages of a call; 0: the calls are unary
}

func main() {
	serve := flag.String("serve", "", "serve as \"weft\" or \"grpc-go\", for the program itself")
	callers := flag.String("callers", "1,100,1000", "how many goroutines call, a list")
	rounds := flag.Int("rounds", 5, "how often each pair is measured")
	calls := flag.Int("calls", 40000, "calls of one measurement")
	var o options
	flag.BoolVar(&o.tls, "tls", false, "connections have TLS")
	flag.IntVar(&o.stream, "stream", 0, "each call gets so many messages from the server; 0: unary calls")
	flag.Parse()
	var err error
	if *serve != "" {
		err = server(*serve, o)
	} else {
		err = compare(o, strings.Split(*callers, ","), *rounds, *calls)
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
func server(kind string, o options) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var config *tls.Config
	var root []byte
	if o.tls {
		if config, root, err = certificate(); err != nil {
			return err
		}
	}
	switch kind {
	case "grpc-go":
		opts := []grpc.ServerOption{grpc.ForceServerCodecV2(vtCodec{})}
		if config != nil {
			opts = append(opts, grpc.Creds(credentials.NewTLS(config)))
		}
		s := grpc.NewServer(opts...)
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Say",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := new(vt.BenchmarkMessage)
				return in, decode(in)
			}}}, Streams: []grpc.StreamDesc{{StreamName: "Flow", ServerStreams: true, Handler: func(_ any, st grpc.ServerStream) error {
			in := new(vt.BenchmarkMessage)
			if err := st.RecvMsg(in); err != nil {
				return err
			}
			for range o.stream {
				if err := st.SendMsg(in); err != nil {
					return err
				}
			}
			return nil
		}}}}, nil)
		// It ends with the process.
		go func() { _ = s.Serve(l) }()
	case "weft":
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{weftgrpc.Door(nil)}, TLS: config, Logger: slog.New(slog.DiscardHandler)})
		err := errors.Join(
			weft.Handle(srv, "bench.Echo.Say", func(_ context.Context, m *vt.BenchmarkMessage) (*vt.BenchmarkMessage, error) { return m, nil }),
			weft.HandleServerStream(srv, "bench.Echo.Flow", func(_ context.Context, m *vt.BenchmarkMessage, out *weft.Sender[vt.BenchmarkMessage]) error {
				for range o.stream {
					if err := out.Send(m); err != nil {
						return err
					}
				}
				return nil
			}))
		if err != nil {
			return err
		}
		// It ends with the process.
		go func() { _ = srv.Serve(l) }()
	default:
		return fmt.Errorf("there is no server %q", kind)
	}
	fmt.Printf("%s %x\n", l.Addr(), root)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(int64(used()))
	}
	return nil
}

// certificate makes the TLS of a server, and the certificate that clients verify it by.
func certificate() (config *tls.Config, root []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	root, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{root}, PrivateKey: key}}}, root, err
}

// trust is the TLS of a client of a server with a certificate; nil: there is none.
func trust(root []byte) (*tls.Config, error) {
	if len(root) == 0 {
		return nil, nil
	}
	c, err := x509.ParseCertificate(root)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return &tls.Config{RootCAs: pool}, nil
}

// caller makes calls on one connection.
type caller struct {
	call  func(ctx context.Context, in, out *vt.BenchmarkMessage) error
	close func() error
}

func dial(kind, addr string, config *tls.Config, o options) (caller, error) {
	if kind == "grpc-go" {
		return dialGo(addr, config, o)
	}
	cfg := &weft.ClientConfig{TLS: config}
	scheme := "tcp://"
	if kind == "weft" {
		scheme, cfg.Wires = "grpc://", []weft.Wire{weftgrpc.Wire(nil), weftgrpc.SecureWire(nil)}
		if o.tls {
			scheme = "grpcs://"
		}
	}
	c, err := weft.Dial(context.Background(), scheme+addr, cfg)
	if err != nil {
		return caller{}, err
	}
	return caller{func(ctx context.Context, in, out *vt.BenchmarkMessage) error {
		if o.stream == 0 {
			return c.Call(ctx, "bench.Echo.Say", in, out)
		}
		st, err := weft.Subscribe[vt.BenchmarkMessage](ctx, c, "bench.Echo.Flow", in)
		if err != nil {
			return err
		}
		n := 0
		for m, err := range st.All() {
			if err != nil {
				return err
			}
			n++
			out.Field1 = m.Field1
		}
		return counted(n, o)
	}, c.Close}, nil
}

// counted tells whether a call has got all its messages.
func counted(n int, o options) error {
	if n != o.stream {
		return fmt.Errorf("%d messages came, want %d", n, o.stream)
	}
	return nil
}

func dialGo(addr string, config *tls.Config, o options) (caller, error) {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(vtCodec{})))
	if err != nil {
		return caller{}, err
	}
	return caller{func(ctx context.Context, in, out *vt.BenchmarkMessage) error {
		if o.stream == 0 {
			return c.Invoke(ctx, path, in, out)
		}
		st, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, flowPath)
		if err != nil {
			return err
		}
		if err = st.SendMsg(in); err != nil {
			return err
		}
		if err = st.CloseSend(); err != nil {
			return err
		}
		n := 0
		for {
			m := new(vt.BenchmarkMessage)
			if err = st.RecvMsg(m); err == io.EOF {
				return counted(n, o)
			}
			if err != nil {
				return err
			}
			n++
			out.Field1 = m.Field1
		}
	}, c.Close}, nil
}

// cost is the processor time of a call, or of a message of a stream, on the server and on both ends, in microseconds.
type cost struct{ server, both float64 }

// measure runs one server and makes calls of it.
func measure(o options, server, client string, callers, calls int) (c cost, err error) {
	cmd := exec.Command(os.Args[0], "-serve", server, "-tls="+strconv.FormatBool(o.tls), "-stream="+strconv.Itoa(o.stream))
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
	addr, text, _ := strings.Cut(lines.Text(), " ")
	root, err := hex.DecodeString(text)
	if err != nil {
		return c, err
	}
	config, err := trust(root)
	if err != nil {
		return c, err
	}
	d, err := dial(client, addr, config, o)
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
	units := float64(calls * max(o.stream, 1))
	c.server = float64(after-before) / units / 1e3
	c.both = c.server + float64(own)/units/1e3
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

func compare(o options, callers []string, rounds, calls int) error {
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
				c, err := measure(o, p[0], p[1], n, calls)
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
