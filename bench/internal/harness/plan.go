package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/msg"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

// Entry is a peer as it takes part, with a number of connections or 0 for the
// peer's own choice.
type Entry struct {
	Label string // as asked for
	Peer  Peer
	Conns int
}

// ParseEntry reads "name", "name:conns" or "name:each".
func (ps Peers) ParseEntry(label string) (Entry, error) {
	name, conns, given := strings.Cut(label, ":")
	peer, err := ps.Find(name)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Label: label, Peer: peer}
	switch {
	case !given:
	case conns == "each":
		e.Conns = PerCaller
	default:
		if e.Conns, err = strconv.Atoi(conns); err != nil || e.Conns < 1 {
			return Entry{}, fmt.Errorf("peer %q: the part after the colon is a number of connections or %q", label, "each")
		}
	}
	return e, nil
}

// Plan is a set of runs.
type Plan struct {
	Entries     []Entry
	Codecs      []msg.Codec
	Callers     []int
	Workloads   []Workload
	Rounds      int
	Warmup      time.Duration
	Measure     time.Duration
	Calls       int64 // measure this many calls instead of a time; 0 means a time
	Environment Environment

	// Command makes the command of a child that calls Serve or Load.
	Command func(mode Mode) *exec.Cmd
}

// run is one line of a plan.
type run struct {
	entry Entry
	codec msg.Codec
	work  Workload
	count int // callers
	round int
}

// runs lists the plan in order. Rounds are outermost and peers innermost, so
// that a change in the machine's mood falls on all peers alike.
func (p *Plan) runs() []run {
	var all []run
	for round := range p.Rounds {
		for _, callers := range p.Callers {
			for _, codec := range p.Codecs {
				for _, work := range p.Workloads {
					for _, entry := range p.Entries {
						if p.skip(entry, codec, work) == nil {
							all = append(all, run{entry, codec, work, callers, round + 1})
						}
					}
				}
			}
		}
	}
	return all
}

// skip says why an entry cannot take part, or nil.
func (p *Plan) skip(e Entry, codec msg.Codec, work Workload) error {
	if err := e.Peer.Supports(codec, work.main()); err != nil {
		return err
	}
	return e.Peer.Supports(codec, work.side())
}

// Run runs the plan. It calls emit with each record as it comes, of failed runs
// as well: those have FirstError and no calls. It returns early only when ctx
// ends or emit fails.
func (p *Plan) Run(ctx context.Context, emit func(done, of int, r Record) error) error {
	runs := p.runs()
	if len(runs) == 0 {
		return errors.New("nothing to run: no peer supports the codecs and workload asked for")
	}
	for i, r := range runs {
		record := p.one(ctx, r)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := emit(i+1, len(runs), record); err != nil {
			return err
		}
	}
	return nil
}

// one makes one run.
func (p *Plan) one(ctx context.Context, r run) Record {
	record := Record{
		Workload: r.work, Peer: r.entry.Label, Codec: r.codec, Callers: r.count, Round: r.round,
		Environment: p.Environment, Time: time.Now().UTC(),
	}
	load, err := procstat.Load1()
	if err == nil {
		record.Load1 = load
		err = p.measure(ctx, r, &record)
	}
	if err != nil {
		record.Failures++
		record.FirstError = err.Error()
	}
	return record
}

// measure starts the children of a run and leads them through it.
func (p *Plan) measure(ctx context.Context, r run, record *Record) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	task := Task{
		Peer: r.entry.Peer.Name(), Codec: r.codec, Workload: r.work, Callers: r.count, Conns: r.entry.Conns,
		Warmup: p.Warmup, Measure: p.Measure, Calls: p.Calls,
	}
	server, err := startChild(ModeServe, p.Command(ModeServe), task)
	if err != nil {
		return err
	}
	defer server.stop()
	// An interrupted plan ends its children at once; what they waited for fails.
	defer context.AfterFunc(ctx, func() { server.cmd.Process.Kill() })()

	ready, err := server.expect(eventReady, dialTime)
	if err != nil {
		return err
	}
	task.Addr = ready.Addr
	client, err := startChild(ModeLoad, p.Command(ModeLoad), task)
	if err != nil {
		return err
	}
	defer client.stop()
	defer context.AfterFunc(ctx, func() { client.cmd.Process.Kill() })()

	if _, err := client.expect(eventWarm, dialTime+warmupLimit*task.Warmup+2*drainTime); err != nil {
		return err
	}
	before, err := server.ask(orderUsage, eventUsage, drainTime)
	if err != nil {
		return err
	}
	result, err := client.ask(orderGo, eventResult, task.bound()+3*drainTime)
	if err != nil {
		return err
	}
	after, err := server.ask(orderUsage, eventUsage, drainTime)
	if err != nil {
		return err
	}
	record.fill(result.Result, after.Usage.Since(*before.Usage))
	return nil
}
