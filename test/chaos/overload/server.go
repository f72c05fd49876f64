package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/registry/static"
)

// Report is what a server process says of itself.
type Report struct {
	At       int64 // when, ns since 1970
	CPU      int64 // processor time used, ns
	RSS      int64 // bytes resident
	Calls    int64 // handlers that ran
	Attempts int64 // made by its own client, of a relay
	Made     int64 // calls of that client
	Overload weft.OverloadStats
}

// serverOptions say what a server process does.
type serverOptions struct {
	Wire string // weft, off (without protection) or grpc
	Next string // of a relay: where Work.Relay calls Work.Relay, or Work.Burn at the last
	Last bool   // the next one is the last
}

// serve runs a server until its standard input ends. It prints the addresses of the work and
// of the control.
func serve(o serverOptions) error {
	w := newWork()
	cfg := &weft.ServerConfig{Overload: weft.Overload{Off: o.Wire == "off"}, Logger: slog.New(slog.DiscardHandler)}
	srv := weft.NewServer(cfg)
	control := weft.NewServer(&weft.ServerConfig{Overload: weft.Overload{Off: true}, Logger: cfg.Logger})
	defer control.Close()
	defer srv.Close()
	var relay *cluster.Client
	err := errors.Join(
		srv.RegisterName("Work", w, weft.For("Burn", weft.Idempotent()), weft.For("One", weft.MethodLimit(1))),
		control.RegisterName("Work", w),
		weft.Handle(control, "Control.Report", func(context.Context, *Job) (*Report, error) {
			r := &Report{At: time.Now().UnixNano(), CPU: int64(cputime.Used()), RSS: resident(), Calls: w.calls.Load(), Overload: srv.Stats().Overload}
			if relay != nil {
				for _, m := range relay.Stats().Methods {
					r.Made += int64(m.Calls)
					r.Attempts += int64(m.Calls + m.Retries + m.Hedges)
				}
				r.Attempts -= int64(relay.Stats().Throttled)
				r.Made -= int64(relay.Stats().Throttled)
			}
			return r, nil
		}))
	if o.Next != "" {
		next := "Work.Relay"
		if o.Last {
			next = "Work.Burn"
		}
		if relay, err = clusterOf(o.Next, 0, 0); err != nil {
			return err
		}
		defer relay.Close()
		err = errors.Join(err, weft.Handle(srv, "Work.Relay", func(ctx context.Context, j *Job) (*Done, error) {
			return weft.Invoke[Done](ctx, relay, next, j)
		}, weft.Idempotent()))
	}
	if err != nil {
		return err
	}
	at, err := listen(srv)
	if err != nil {
		return err
	}
	if o.Wire == "grpc" {
		if at, err = serveGRPC(w); err != nil {
			return err
		}
	}
	controlAt, err := listen(control)
	if err != nil {
		return err
	}
	fmt.Println(at, controlAt)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent ends it
	return nil
}

// listen serves on a port of loopback.
func listen(s *weft.Server) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go s.Serve(l) // it ends with the process
	return l.Addr().String(), nil
}

// clusterOf makes a cluster client of one server, whose methods are idempotent.
func clusterOf(at string, conns int, timeout time.Duration) (*cluster.Client, error) {
	reg, err := static.New("tcp://" + at)
	if err != nil {
		return nil, err
	}
	return cluster.New(&cluster.Config{Registry: reg, Client: &weft.ClientConfig{MaxConns: conns, Timeout: timeout}, Logger: slog.New(slog.DiscardHandler)})
}

// resident is the resident memory of the process; 0 where it is not known.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
