package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/examples/internal/benchmark"
)

// table measures calls with few and with many callers.
func (d *demo) table() error {
	heading(8, "Throughput and latency")
	server, err := d.startServer("127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := server.listens(); err != nil {
		return err
	}
	line("%7s %10s %9s %9s %9s %9s   %s", "", "", "", "", "", "", "CPU µs per call")
	line("%7s %10s %9s %9s %9s %9s %8s %8s %8s", "callers", "calls/s", "p50", "p99", "p99.9", "max", "client", "server", "both")
	for _, callers := range []int{1, 100, 1000} {
		client, err := d.startClient(kept, "-do", "load", "-address", server.address, "-callers", strconv.Itoa(callers))
		if err != nil {
			return err
		}
		var m measured
		if err := errors.Join(client.report(&m), client.wait()); err != nil {
			return err
		}
		each := func(cpu time.Duration) float64 { return float64(cpu.Microseconds()) / float64(m.Calls) }
		line("%7s %10s %9s %9s %9s %9s %8.1f %8.1f %8.1f", count(callers), count(float64(m.Calls)/m.Took.Seconds()),
			short(m.P50), short(m.P99), short(m.P999), short(m.Max), each(m.Client), each(m.Server), each(m.Client+m.Server))
	}
	fmt.Println()
	line("Each caller calls Hello.Say, checks the reply, and calls again. Server and client share the processors.")
	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	var report executed
	return errors.Join(server.report(&report), server.wait())
}

// measured is the report of a client.
type measured struct {
	Calls               int
	Took                time.Duration
	P50, P99, P999, Max time.Duration
	Client, Server      time.Duration // processor time
}

// load measures how fast calls are with so many callers at the same time.
func load(ctx context.Context, c *weft.Client, callers int, quick bool) error {
	warm, run := 500*time.Millisecond, 2*time.Second
	if quick {
		warm, run = 50*time.Millisecond, 100*time.Millisecond
	}
	if _, _, err := callFor(ctx, c, callers, warm); err != nil {
		return err
	}
	client, server, err := bothCPU(ctx, c)
	if err != nil {
		return err
	}
	latencies, took, err := callFor(ctx, c, callers, run)
	if err != nil {
		return err
	}
	clientAfter, serverAfter, err := bothCPU(ctx, c)
	if err != nil {
		return err
	}
	slices.Sort(latencies)
	at := func(share float64) time.Duration { return latencies[int(share*float64(len(latencies)-1))] }
	return tell(measured{
		Calls: len(latencies), Took: took,
		P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1),
		Client: clientAfter - client, Server: serverAfter - server,
	})
}

// callFor lets callers call for a while and returns how long each call took.
func callFor(ctx context.Context, c *weft.Client, callers int, d time.Duration) ([]time.Duration, time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var over atomic.Bool
	var wg sync.WaitGroup
	began := time.Now()
	time.AfterFunc(d, func() { over.Store(true) })
	for range callers {
		wg.Go(func() {
			mine, err := callUntil(ctx, c, &over)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if failed == nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return all, time.Since(began), failed
}

// callUntil is one caller.
func callUntil(ctx context.Context, c *weft.Client, over *atomic.Bool) ([]time.Duration, error) {
	request, err := benchmark.New()
	if err != nil {
		return nil, err
	}
	var latencies []time.Duration
	reply := new(message)
	for !over.Load() {
		began := time.Now()
		if err := c.Call(ctx, "Hello.Say", request, reply); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(began))
		if err := benchmark.Check(reply); err != nil {
			return nil, err
		}
	}
	return latencies, nil
}

// bothCPU is the processor time of this process and the server's.
func bothCPU(ctx context.Context, c *weft.Client) (client, server time.Duration, err error) {
	n, err := weft.Invoke[Number](ctx, c, "Process.CPU", &Nothing{})
	if err != nil {
		return 0, 0, err
	}
	client, err = cpuTime()
	return client, time.Duration(n.N), err
}
