package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

// Point is what every entry is measured at: a workload, and under which conditions.
type Point struct {
	Workload contract.Workload
	Callers  int
	Servers  int     // 0 means 1
	Clients  int     // client processes, each with Callers; 0 means 1
	Network  Network // "" means Loopback
	Calls    int64   // of each client process, instead of a time; 0 means a time
	Share    float64 // an open loop at this share of what the entry reached in a closed one; 0 means a closed loop
	Best     bool    // only for the best codec of each peer
	Swift    bool    // not for peers that need a warm-up of their own: they take a quarter of a minute each
}

// Network is where client and server meet.
type Network string

// The networks.
const (
	Loopback   Network = "loopback"
	Namespaces Network = "netns" // two network namespaces, joined by a veth pair
)

// Plan is a set of runs.
type Plan struct {
	Entries     []Entry
	Points      []Point
	Rounds      int
	Warmup      time.Duration // the least of every run; 0: usualWarmup, or what the peer needs if that is longer
	Measure     time.Duration
	Environment Environment
	Stderr      io.Writer // for what the programs print there
}

// run is one line of a plan.
type run struct {
	Entry
	Point
	round int
	skip  string // why it is not made, or ""
}

// runs lists the plan in order. Rounds are outermost and entries innermost, so
// that a change of the machine's speed falls on all alike. What an entry cannot
// do because of its number of callers is listed once, for the report.
func (p *Plan) runs() []run {
	var all []run
	for round := range p.Rounds {
		for _, point := range p.Points {
			point.Servers, point.Clients = max(point.Servers, 1), max(point.Clients, 1)
			if point.Network == "" {
				point.Network = Loopback
			}
			for _, e := range p.Entries {
				if !e.takesPart(point) {
					continue
				}
				r := run{Entry: e, Point: point, round: round + 1}
				if most := e.Peer.MaxCallers; most > 0 && point.Callers*point.Clients > most {
					if round > 0 {
						continue
					}
					r.skip = fmt.Sprintf("at most %d callers: %s", most, e.Peer.MaxCallersWhy)
				}
				all = append(all, r)
			}
		}
	}
	return all
}

// takesPart reports whether a point is meant for an entry.
func (e Entry) takesPart(point Point) bool {
	return e.Peer.Supports(point.Workload, e.Codec) &&
		(!point.Best || e.Codec == e.Peer.Codecs[0]) &&
		(!point.Swift || e.Peer.Warmup == 0)
}

// Size is how many runs the plan makes, and about how long they take together.
func (p *Plan) Size() (runs int, takes time.Duration) {
	for _, r := range p.runs() {
		if r.skip == "" {
			runs++
			takes += p.takes(r)
		}
	}
	return runs, takes
}

// takes is about how long a run takes: starting both processes, a warm-up that is
// somewhat longer than the least, and the measured time, or what a number of
// calls usually takes.
func (p *Plan) takes(r run) time.Duration {
	const (
		start       = 500 * time.Millisecond
		startJIT    = 3 * time.Second // more, of a peer that has a warm-up of its own
		usualCall   = 40 * time.Microsecond
		usualDialed = 400 * time.Microsecond
	)
	if r.skip != "" {
		return 0
	}
	takes := start + p.warmup(r)*5/4
	if r.Peer.Warmup > 0 {
		takes += startJIT
	}
	switch {
	case r.Calls == 0:
		return takes + p.Measure
	case r.Workload == contract.MathNew:
		return takes + usualDialed*time.Duration(r.Calls)*time.Duration(r.Clients)
	}
	return takes + usualCall*time.Duration(r.Calls)*time.Duration(r.Clients)
}

// usualWarmup is enough for what is compiled before it runs.
const usualWarmup = time.Second

// warmup is the least time to warm up for a run.
func (p *Plan) warmup(r run) time.Duration {
	if p.Warmup > 0 {
		return p.Warmup
	}
	return max(usualWarmup, time.Duration(r.Peer.Warmup*float64(time.Second)))
}

// Progress is where a plan has come to.
type Progress struct {
	Done, Of int           // runs
	Left     time.Duration // about how long the rest takes, by how long that before it took
}

// Run runs the plan. It calls begin before each run and emit with each record as
// it comes, of failed and skipped runs as well: those have no calls. It returns
// early only when ctx ends or emit fails.
func (p *Plan) Run(ctx context.Context, begin func(at Progress, r Record), emit func(r Record) error) error {
	runs := p.runs()
	if len(runs) == 0 {
		return errors.New("nothing to run: the plan has none of the workloads asked for, or no peer supports them with the codecs asked for")
	}
	hosts, err := newHosts(runs)
	if err != nil {
		fmt.Fprintf(p.Stderr, "no runs over network namespaces: %v\n", err)
		runs = slices.DeleteFunc(runs, func(r run) bool { return r.Network == Namespaces })
	}
	defer hosts.close()
	var made []Record
	var past, rest time.Duration // as they should have taken, and should take
	for _, r := range runs {
		rest += p.takes(r)
	}
	started := time.Now()
	for i, r := range runs {
		at := Progress{Done: i, Of: len(runs), Left: rest}
		if past > 0 {
			at.Left = time.Duration(float64(rest) * float64(time.Since(started)) / float64(past))
		}
		begin(at, p.record(r))
		past, rest = past+p.takes(r), rest-p.takes(r)
		record := p.one(ctx, r, hosts, made)
		if err := ctx.Err(); err != nil {
			return err
		}
		made = append(made, record)
		if err := emit(record); err != nil {
			return err
		}
	}
	return nil
}

// record is the part of a run's record that is known before it.
func (p *Plan) record(r run) Record {
	return Record{
		Workload: r.Workload, Peer: r.Label, Codec: r.Codec, Callers: r.Callers,
		Servers: r.Servers, Clients: r.Clients, Network: r.Network, Share: r.Share, Quota: r.Calls,
		Round: r.round, Skipped: r.skip,
		Language: r.Peer.Language, Version: r.Peer.Version, Settings: r.Peer.Settings,
		Environment: p.Environment, Time: time.Now().UTC(),
	}
}

// one makes one run.
func (p *Plan) one(ctx context.Context, r run, hosts *hosts, made []Record) Record {
	record := p.record(r)
	if r.skip == "" && r.Share > 0 {
		if record.Rate = r.Share * capacity(r, made); record.Rate == 0 {
			record.Skipped = "no closed loop of the same entry and callers before it, to know its greatest rate"
		}
	}
	if record.Skipped != "" {
		return record
	}
	if err := p.measure(ctx, r, hosts, &record); err != nil {
		record.Failures++
		record.FirstError = err.Error()
	}
	return record
}

// capacity is the median rate of the closed loops of the same entry and callers.
func capacity(r run, made []Record) float64 {
	var rates []float64
	for _, m := range made {
		if m.Peer == r.Label && m.Codec == r.Codec && m.Workload == r.Workload && m.Callers == r.Callers &&
			m.Share == 0 && m.Servers == 1 && m.Clients == 1 && m.Network == Loopback && m.Calls > 0 {
			rates = append(rates, m.CallsPerSec)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}
