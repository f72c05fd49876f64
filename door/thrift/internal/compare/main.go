// Compare measures servers of Thrift beside one another: calls a second, and the processor time of
// the server's process for each call. All get the same calls of stock clients, in turns.
//
//	go run ./internal/compare
//	go run ./internal/compare -compact -unframed
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/testdata/stock"
)

func main() {
	serve := flag.String("serve", "", "be one of the servers")
	rounds := flag.Int("rounds", 5, "how often each server is measured")
	each := flag.Duration("for", time.Second, "how long, each time")
	var d dialect
	flag.BoolVar(&d.compact, "compact", false, "the compact protocol in place of the binary one")
	flag.BoolVar(&d.unframed, "unframed", false, "without frames; then stock clients alone are measured")
	flag.Parse()
	err := error(nil)
	if *serve != "" {
		err = runServer(*serve, d)
	} else {
		err = compare(*rounds, *each, d)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// dialect is how messages are encoded, and sent.
type dialect struct{ compact, unframed bool }

// flags are those of a server.
func (d dialect) flags() []string {
	return []string{"-compact=" + strconv.FormatBool(d.compact), "-unframed=" + strconv.FormatBool(d.unframed)}
}

func (d dialect) String() string {
	name := "framed "
	if d.unframed {
		name = "unframed "
	}
	if d.compact {
		return name + "compact"
	}
	return name + "binary"
}

// factories are those of the library.
func (d dialect) factories() (thrift.TTransportFactory, thrift.TProtocolFactory) {
	cfg := &thrift.TConfiguration{}
	transport, protocol := thrift.TTransportFactory(thrift.NewTBufferedTransportFactory(8<<10)), thrift.TProtocolFactory(thrift.NewTBinaryProtocolFactoryConf(cfg))
	if !d.unframed {
		transport = thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), cfg)
	}
	if d.compact {
		protocol = thrift.NewTCompactProtocolFactoryConf(cfg)
	}
	return transport, protocol
}

// over is the protocol over a transport.
func (d dialect) over(t thrift.TTransport) (thrift.TProtocol, error) {
	transport, protocol := d.factories()
	t, err := transport.GetTransport(t)
	return protocol.GetProtocol(t), err
}

// begins are the kind and the number of a message.
func (d dialect) begins(message []byte) (kind byte, seq uint32) {
	if d.compact {
		return message[1] >> 5, uint32(message[2]) // of less than 128
	}
	return message[3], binary.BigEndian.Uint32(message[12:])
}

// message is what all calls carry, both ways.
func message() *stock.Everything {
	opt := int64(1) << 40
	return &stock.Everything{
		B: true, Y: 1, S: 300, I: 70000, L: 1 << 50, D: 0.5, T: strings.Repeat("text ", 20), Raw: make([]byte, 100), Nums: []int32{1, 2, 3, 4, 5, 6, 7, 8},
		Tags: []string{"one", "two"}, Inners: map[string]*stock.Inner{"x": {Name: "x", N: 1}}, Inner: &stock.Inner{Name: "inner", N: 2}, Opt: &opt,
		Color: stock.Color_RED, Flags: []bool{true, false}, Deep: map[int32][]string{1: {"a", "b"}}, Oi: []*stock.Inner{{Name: "o", N: 3}, {Name: "p", N: 4}},
	}
}

// load is a way of calling.
type load struct {
	name  string
	conns int
	deep  int // calls in one write; 0: a stock client, which has one call at a time
}

func loads(d dialect) []load {
	stock := []load{{"stock client, 1 connection", 1, 0}, {"stock clients, 50 connections", 50, 0}, {"stock clients, 1,000 connections", 1000, 0}}
	if d.unframed {
		return stock
	}
	return append(stock, load{"1 connection, 32 calls in a write", 1, 32}, load{"8 connections, 32 calls in a write", 8, 32})
}

// figures are those of one measurement.
type figures struct{ rate, cpu float64 } // calls a second, µs of the server for each

func compare(rounds int, each time.Duration, d dialect) error {
	all := make(map[string][]figures)
	var running []*process
	for _, name := range servers() {
		p, err := start(name, d)
		if err != nil {
			return err
		}
		defer p.stop()
		running = append(running, p)
	}
	for range rounds {
		for _, l := range loads(d) {
			for _, p := range running {
				f, err := measure(p, l, each, d)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", p.name, l.name, err)
				}
				key := l.name + p.name
				all[key] = append(all[key], f)
			}
		}
	}
	fmt.Printf("%s, %d processors, %s, medians of %d rounds of %s: calls/s, µs of the server's processor time for each call\n\n", d, runtime.NumCPU(), runtime.Version(), rounds, each)
	fmt.Printf("| calls |")
	for _, p := range running {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("---:|", len(running)))
	for _, l := range loads(d) {
		fmt.Printf("| %s |", l.name)
		for _, p := range running {
			f := all[l.name+p.name]
			fmt.Printf(" %.0f, %.1f |", median(f, func(f figures) float64 { return f.rate }), median(f, func(f figures) float64 { return f.cpu }))
		}
		fmt.Println()
	}
	return nil
}

func median(all []figures, of func(figures) float64) float64 {
	var v []float64
	for _, f := range all {
		v = append(v, of(f))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// process is a server.
type process struct {
	name, addr string
	cmd        *exec.Cmd
	in         io.WriteCloser
	out        *bufio.Reader
}

func start(name string, d dialect) (*process, error) {
	p := &process{name: name, cmd: exec.Command(os.Args[0], append(d.flags(), "-serve", name)...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.addr, err = p.line()
	return p, err
}

func (p *process) line() (string, error) {
	s, err := p.out.ReadString('\n')
	return strings.TrimSpace(s), err
}

// used is the processor time that the server has used.
func (p *process) used() (time.Duration, error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return 0, err
	}
	s, err := p.line()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Duration(n), err
}

func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

func measure(p *process, l load, each time.Duration, d dialect) (f figures, err error) {
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for range l.conns {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			return f, err
		}
		conns = append(conns, conn)
	}
	before, err := p.used()
	if err != nil {
		return f, err
	}
	var calls atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, l.conns)
	from := time.Now()
	for _, conn := range conns {
		wg.Go(func() {
			err := conn.SetDeadline(from.Add(each + time.Minute))
			if err == nil && l.deep == 0 {
				err = callStock(conn, from.Add(each), &calls, d)
			} else if err == nil {
				err = callDeep(conn, l.deep, from.Add(each), &calls, d)
			}
			if err != nil {
				failed <- err
			}
		})
	}
	wg.Wait()
	took := time.Since(from)
	select {
	case err := <-failed:
		return f, err
	default:
	}
	after, err := p.used()
	n := float64(calls.Load())
	return figures{n / took.Seconds(), float64((after - before).Nanoseconds()) / 1000 / n}, err
}

// callStock calls by a stock client.
func callStock(conn net.Conn, until time.Time, calls *atomic.Int64, d dialect) error {
	p, err := d.over(thrift.NewTSocketFromConnConf(conn, nil))
	if err != nil {
		return err
	}
	c := stock.NewDemoClient(thrift.NewTStandardClient(p, p))
	m := message()
	for time.Now().Before(until) {
		back, err := c.Echo(context.Background(), m)
		if err != nil {
			return err
		}
		if back.T != m.T {
			return fmt.Errorf("%q came back", back.T)
		}
		calls.Add(1)
	}
	return nil
}

// callDeep sends many calls in one write, and reads their replies.
func callDeep(conn net.Conn, deep int, until time.Time, calls *atomic.Int64, d dialect) error {
	b := thrift.NewTMemoryBuffer()
	p, err := d.over(b)
	if err != nil {
		return err
	}
	c := thrift.NewTStandardClient(p, p)
	for n := range deep {
		if err := c.Send(context.Background(), p, int32(n), "echo", &stock.DemoEchoArgs{E: message()}); err != nil {
			return err
		}
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	reply := make([]byte, 64<<10)
	for time.Now().Before(until) {
		if _, err := conn.Write(b.Bytes()); err != nil {
			return err
		}
		for n := range deep {
			if _, err := io.ReadFull(in, reply[:4]); err != nil {
				return err
			}
			size := binary.BigEndian.Uint32(reply)
			if size < 16 || size > uint32(len(reply)) {
				return fmt.Errorf("a reply of %d bytes", size)
			}
			if _, err := io.ReadFull(in, reply[:size]); err != nil {
				return err
			}
			if kind, seq := d.begins(reply); kind != 2 || seq != uint32(n) {
				return fmt.Errorf("a message of the kind %d with the number %d, want 2 and %d", kind, seq, n)
			}
		}
		calls.Add(int64(deep))
	}
	return nil
}
