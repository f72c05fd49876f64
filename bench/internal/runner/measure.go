package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// How long the parts of a run may take.
const (
	startTime  = 60 * time.Second // to listen, and to connect
	answerTime = 10 * time.Second // to answer an order
	callsTime  = 2 * time.Minute  // for a number of calls
	warmupMost = 3                // times the warm-up that was asked for
)

// measure starts the children of a run and directs them through it.
func (p *Plan) measure(ctx context.Context, r run, hosts *hosts, record *Record) error {
	load, err := procstat.Load1()
	if err != nil {
		return err
	}
	record.Load1 = load
	var servers, clients []*child
	launch := func(name string, side side, args ...string) (*child, error) {
		command := append(hosts.prefix(r.Network, side), r.Peer.Program...)
		// An interrupted plan ends its children at once.
		return start(ctx, r.Label+" "+name, append(command, args...), p.Stderr)
	}
	var addrs []string
	for range r.Servers {
		server, err := launch("serve", serverSide, "serve", "-peer", r.Peer.Peer, "-codec", r.Codec, "-addr", hosts.listen(r.Network))
		if err != nil {
			return err
		}
		defer server.stop()
		ready, err := server.expect(contract.Ready, startTime)
		if err != nil {
			return err
		}
		servers = append(servers, server)
		addrs = append(addrs, ready.Addr)
	}
	warmup := p.warmup(r)
	for range r.Clients {
		client, err := launch("load", clientSide, p.loadFlags(r, addrs, warmup, record.Rate)...)
		if err != nil {
			return err
		}
		defer client.stop()
		clients = append(clients, client)
	}
	for _, client := range clients {
		if _, err := client.expect(contract.Warm, startTime+warmupMost*warmup+2*answerTime); err != nil {
			return err
		}
	}
	return p.together(r, servers, clients, record)
}

// loadFlags are the arguments of a client.
func (p *Plan) loadFlags(r run, addrs []string, warmup time.Duration, rate float64) []string {
	return []string{
		"load", "-peer", r.Peer.Peer, "-codec", r.Codec, "-addr", strings.Join(addrs, ","), "-workload", string(r.Workload),
		"-callers", strconv.Itoa(r.Callers), "-conns", strconv.Itoa(r.Conns),
		"-warmup", seconds(warmup), "-seconds", seconds(p.Measure), "-calls", strconv.FormatInt(r.Calls, 10),
		"-rate", strconv.FormatFloat(rate/float64(r.Clients), 'f', 1, 64),
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// together lets the warm clients measure at the same time, and fills the record.
func (p *Plan) together(r run, servers, clients []*child, record *Record) error {
	before, err := read(r, servers, clients)
	if err != nil {
		return err
	}
	for _, client := range clients {
		if err := client.order(contract.OrderGo); err != nil {
			return err
		}
	}
	limit := p.Measure + 3*answerTime
	if r.Calls > 0 {
		limit += callsTime
	}
	var results []contract.Event
	for _, client := range clients {
		e, err := client.expect(contract.Result, limit)
		if err != nil {
			return err
		}
		results = append(results, e)
	}
	after, err := read(r, servers, clients)
	if err != nil {
		return err
	}
	record.fill(results, after.since(before))
	return nil
}

// reading is what machine and children had used at one moment.
type reading struct {
	machine         procstat.Machine
	servers, client procstat.Usage // of all processes of a kind together
	wire            procstat.Wire
	serverAllocs    uint64
	counted         bool               // whether serverAllocs is known
	processes       procstat.Processes // of the machine, without those of the run
	others          []procstat.Process // of a difference: what the processes used
}

// read reads everything. The children are idle meanwhile.
func read(r run, servers, clients []*child) (now reading, err error) {
	for _, c := range servers {
		usage, err := procstat.Of(c.cmd.Process.Pid)
		if err != nil {
			return now, fmt.Errorf("%s: %w", c.name, err)
		}
		now.servers = now.servers.Plus(usage)
	}
	for _, c := range clients {
		usage, err := procstat.Of(c.cmd.Process.Pid)
		if err != nil {
			return now, fmt.Errorf("%s: %w", c.name, err)
		}
		now.client = now.client.Plus(usage)
	}
	if now.wire, err = procstat.WireOf(clients[0].cmd.Process.Pid); err != nil {
		return now, err
	}
	if now.counted = r.Peer.Usage; now.counted {
		for _, c := range servers {
			if err := c.order(contract.OrderUsage); err != nil {
				return now, err
			}
			e, err := c.expect(contract.Usage, answerTime)
			if err != nil {
				return now, err
			}
			now.serverAllocs += e.Allocs
		}
	}
	if now.processes, err = procstat.ReadProcesses(); err != nil {
		return now, err
	}
	for _, c := range slices.Concat(servers, clients) {
		delete(now.processes, c.cmd.Process.Pid)
	}
	now.machine, err = procstat.ReadMachine()
	return now, err
}

// since is the difference between two readings.
func (now reading) since(before reading) reading {
	return reading{
		machine: now.machine.Since(before.machine),
		servers: now.servers.Since(before.servers),
		client:  now.client.Since(before.client),
		wire:    now.wire.Since(before.wire),

		serverAllocs: now.serverAllocs - before.serverAllocs,
		counted:      now.counted,
		others:       now.processes.Since(before.processes),
	}
}
