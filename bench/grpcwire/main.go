// Grpcwire compares the processor time of a call by gRPC's wire: grpc-go's client with grpc-go's
// server and with weft's door, and weft's wire with weft's door, with the same generated protobuf code, in turns.
// Servers are processes of their own. With -tls the connections have TLS; with -stream each call gets so many messages
// from the server, and the times are those of a message. Beside them are the calls per second, how long half of the calls and
// 99 of 100 took at most, and the read and write system calls of the server for each call.
//
//	go run ./grpcwire -callers 1,100,1000 -rounds 5 -calls 40000
//	go run ./grpcwire -callers 100 -tls
//	go run ./grpcwire -callers 10 -stream 1000 -calls 200
//	go run ./grpcwire -callers 1000 -conns 10 -only weft:grpc-go
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
	conns  int // of the client, among which callers are spread
}

func main() {
	serve := flag.String("serve", "", "serve as \"weft\" or \"grpc-go\", for the program itself")
	callers := flag.String("callers", "1,100,1000", "how many goroutines call, a list")
	rounds := flag.Int("rounds", 5, "how often each pair is measured")
	calls := flag.Int("calls", 40000, "calls of one measurement")
	var o options
	flag.BoolVar(&o.tls, "tls", false, "connections have TLS")
	flag.IntVar(&o.stream, "stream", 0, "each call gets so many messages from the server; 0: unary calls")
	flag.IntVar(&o.conns, "conns", 1, "clients, each of which has its connections and a part of the callers")
	only := flag.String("only", "", "the pairs that are measured, such as \"grpc-go:grpc-go,weft:grpc-go\" for servers and clients; \"\": all")
	flag.Parse()
	var err error
	switch {
	case *serve != "":
		err = server(*serve, o)
	case o.conns < 1 || *calls < 1 || *rounds < 1:
		err = fmt.Errorf("-conns is %d, -calls %d and -rounds %d, want 1 or more of each", o.conns, *calls, *rounds)
	default:
		err = compare(o, strings.Split(*callers, ","), *only, *rounds, *calls)
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

// systemCalls is how many reads and writes the process has made, where the system tells.
func systemCalls() (reads, writes int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "syscr":
			reads = n
		case "syscw":
			writes = n
		}
	}
	return reads, writes
}

// server serves, says where, and answers each line of its input with the processor time used, and the reads and writes made.
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
		reads, writes := systemCalls()
		fmt.Println(int64(used()), reads, writes)
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

// cost is the processor time of a call, or of a message of a stream, on the server and on both ends, in microseconds; the reads and
// writes of the server for one; and the calls per second and their durations, in microseconds.
type cost struct{ server, both, reads, writes, rate, p50, p99 float64 }

// spent is what a server has used so far.
type spent struct{ cpu, reads, writes int64 }

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
	var all []caller
	defer func() {
		for _, d := range all {
			_ = d.close()
		}
	}()
	for range o.conns {
		d, err := dial(client, addr, config, o)
		if err != nil {
			return c, err
		}
		all = append(all, d)
	}
	of := func() (s spent, err error) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			return s, err
		}
		if !lines.Scan() {
			return s, io.ErrUnexpectedEOF
		}
		_, err = fmt.Sscan(lines.Text(), &s.cpu, &s.reads, &s.writes)
		return s, err
	}
	if _, err := load(all, callers, calls/4); err != nil { // to warm up
		return c, err
	}
	before, err := of()
	if err != nil {
		return c, err
	}
	own, from := used(), time.Now()
	took, err := load(all, callers, calls)
	if err != nil {
		return c, err
	}
	c.rate = float64(calls) / time.Since(from).Seconds()
	own = used() - own
	after, err := of()
	if err != nil {
		return c, err
	}
	units := float64(calls * max(o.stream, 1))
	c.server = float64(after.cpu-before.cpu) / units / 1e3
	c.both = c.server + float64(own)/units/1e3
	c.reads, c.writes = float64(after.reads-before.reads)/units, float64(after.writes-before.writes)/units
	slices.Sort(took)
	c.p50, c.p99 = float64(took[len(took)/2])/1e3, float64(took[len(took)*99/100])/1e3
	return c, nil
}

// load makes calls with a deadline each, and returns how long they took.
func load(all []caller, callers, calls int) (took []time.Duration, err error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	took = make([]time.Duration, calls)
	failed := make(chan error, callers)
	for i := range callers {
		d := all[i%len(all)]
		wg.Go(func() {
			in := msg.NewVT()
			for n := next.Add(1); n <= int64(calls); n = next.Add(1) {
				from := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				out := new(vt.BenchmarkMessage)
				err := d.call(ctx, in, out)
				cancel()
				took[n-1] = time.Since(from)
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
		return nil, err
	default:
		return took, nil
	}
}

func compare(o options, callers []string, only string, rounds, calls int) error {
	pairs := [][2]string{{"grpc-go", "grpc-go"}, {"weft", "grpc-go"}, {"weft", "weft"}, {"weft", "native"}}
	if only != "" {
		pairs = nil
		for one := range strings.SplitSeq(only, ",") {
			server, client, _ := strings.Cut(one, ":")
			pairs = append(pairs, [2]string{server, client})
		}
	}
	fmt.Println("callers  server   client   server µs  both µs  of the first server  of the first at both ends  reads  writes  calls/s   p50 µs   p99 µs")
	for _, text := range callers {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-callers names %q, want numbers of 1 or more", text)
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
			fmt.Printf("%7d  %-7s  %-7s  %9.2f  %7.1f  %19.2f  %25.2f  %5.2f  %6.2f  %7.0f  %7.0f  %7.0f\n", n, p[0], p[1], c.server, c.both,
				c.server/base.server, c.both/base.both, c.reads, c.writes, c.rate, c.p50, c.p99)
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
	return cost{
		server: pick(func(c cost) float64 { return c.server }), both: pick(func(c cost) float64 { return c.both }),
		reads: pick(func(c cost) float64 { return c.reads }), writes: pick(func(c cost) float64 { return c.writes }),
		rate: pick(func(c cost) float64 { return c.rate }), p50: pick(func(c cost) float64 { return c.p50 }), p99: pick(func(c cost) float64 { return c.p99 }),
	}
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
