// Portcost shows what the doors of a port cost the native wire: the processor time of a server for a call on weft's own wire, and for a connection
// that carries one call, of a server without doors and of one with all of them. Each server is a process of its own; the two take turns, and the one
// that is first changes from round to round. The figures are medians of rounds, in microseconds of the server; the ratio is the median of the ratios of the rounds, between the
// least and the greatest.
//
//	go run ./portcost
//	go run ./portcost -callers 1,100 -rounds 9 -calls 100000 -conns 5000
package main

import (
	"bufio"
	"context"
	"errors"
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

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/thrift"
)

func main() {
	serve := flag.String("serve", "", "serve with \"none\" or \"all\" of the doors, for the program itself")
	callers := flag.String("callers", "1,100,1000", "how many goroutines call, a list; \"\": none do")
	rounds := flag.Int("rounds", 7, "how often each server is measured")
	calls := flag.Int("calls", 50_000, "calls of one measurement")
	conns := flag.Int("conns", 3000, "connections of one measurement; 0: none are made")
	flag.Parse()
	var err error
	if *serve != "" {
		err = server(*serve)
	} else {
		err = compare(*callers, *rounds, *calls, *conns)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// doors are all there are.
func doors() []weft.Door {
	return append(connect.Doors(&connect.Config{HTTP: &http.Config{}}), rpcx.Door(nil), netrpc.Door(), thrift.Door(nil), jsonrpc.Door(nil))
}

// server serves, says where, and answers each line of its input with the processor time that it has used.
func server(with string) error {
	cfg := &weft.ServerConfig{Logger: slog.New(slog.DiscardHandler)}
	if with == "all" {
		cfg.Doors = doors()
	}
	srv := weft.NewServer(cfg)
	err := weft.Handle(srv, "Hello.Say", func(_ context.Context, m *vt.BenchmarkMessage) (*vt.BenchmarkMessage, error) { return m, nil })
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with the process.
	go func() { _ = srv.Serve(l) }()
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return err
		}
		fmt.Println(u.Utime.Nano() + u.Stime.Nano())
	}
	return nil
}

// load has a server at addr do something n times.
type load func(addr string, n int) error

// calling has goroutines call on one client.
func calling(callers int) load {
	return func(addr string, n int) error {
		c, err := weft.Dial(context.Background(), "tcp://"+addr, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		return spread(callers, n, func() error { return call(c) })
	}
}

// connecting makes a connection for each call.
func connecting(addr string, n int) error {
	return spread(8, n, func() error {
		c, err := weft.Dial(context.Background(), "tcp://"+addr, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		return call(c)
	})
}

func call(c *weft.Client) error {
	in, out := msg.NewVT(), new(vt.BenchmarkMessage)
	if err := c.Call(context.Background(), "Hello.Say", in, out); err != nil {
		return err
	}
	if out.GetField1() != in.GetField1() {
		return errors.New("the reply is another one")
	}
	return nil
}

// spread has goroutines do something n times together.
func spread(goroutines, n int, do func() error) error {
	var done atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, goroutines)
	for range goroutines {
		wg.Go(func() {
			for done.Add(1) <= int64(n) {
				if err := do(); err != nil {
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

// measure runs a server, and returns the processor time that it has used for one of n.
func measure(with string, l load, n int) (micros float64, err error) {
	cmd := exec.Command(os.Args[0], "-serve", with)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	next := func() (string, error) {
		if !lines.Scan() {
			return "", io.ErrUnexpectedEOF
		}
		return lines.Text(), nil
	}
	addr, err := next()
	if err != nil {
		return 0, err
	}
	used := func() (int64, error) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			return 0, err
		}
		text, err := next()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(text, 10, 64)
	}
	if err := l(addr, n/4); err != nil { // to warm up
		return 0, err
	}
	before, err := used()
	if err != nil {
		return 0, err
	}
	if err := l(addr, n); err != nil {
		return 0, err
	}
	time.Sleep(20 * time.Millisecond) // the ends of connections are handled too
	after, err := used()
	return float64(after-before) / float64(n) / 1e3, err
}

func compare(callers string, rounds, calls, conns int) error {
	if rounds < 1 || calls < 4 {
		return fmt.Errorf("-rounds is %d and -calls %d, want at least 1 and 4", rounds, calls)
	}
	fmt.Printf("%-22s %12s %12s %8s\n", "one of", "no doors µs", "all doors µs", "ratio")
	if callers != "" {
		for text := range strings.SplitSeq(callers, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("-callers names %q, want numbers of 1 or more", text)
			}
			if err := pair("call, callers: "+text, calling(n), rounds, calls); err != nil {
				return err
			}
		}
	}
	if conns > 0 {
		return pair("connection with a call", connecting, rounds, conns)
	}
	return nil
}

// pair measures both servers in turns, and prints the figures.
func pair(what string, l load, rounds, n int) error {
	var none, all, ratios []float64
	for round := range rounds {
		got := make(map[string]float64)
		order := []string{"none", "all"}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, with := range order {
			micros, err := measure(with, l, n)
			if err != nil {
				return fmt.Errorf("%s with %s of the doors: %w", what, with, err)
			}
			got[with] = micros
		}
		none, all, ratios = append(none, got["none"]), append(all, got["all"]), append(ratios, got["all"]/got["none"])
	}
	slices.Sort(ratios)
	fmt.Printf("%-22s %12.2f %12.2f %8.3f  %.2f to %.2f\n", what, median(none), median(all), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
