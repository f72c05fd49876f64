package harness

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/msg"
)

// task is what the flags of serve and load ask for.
type task struct {
	peer  Peer
	codec msg.Codec
	addrs []string // the one to listen on, or those of the servers

	// Of load alone.
	workload contract.Workload
	callers  int
	conns    int // 0 for the peer's choice, PerCaller for one for each caller
	warmup   time.Duration
	measure  time.Duration
	calls    int64   // so many main calls instead of a time; 0 for a time
	rate     float64 // main calls a second, all callers together; 0 for a closed loop
}

// The bounds of a run, so that a peer that hangs does not hang the comparison.
const (
	dialTime   = 60 * time.Second
	callsTime  = 2 * time.Minute // for a number of calls, unless -seconds is longer
	warmupMost = 3               // times the warm-up time is when it ends, steady or not
	drainTime  = 10 * time.Second
	stopTime   = 5 * time.Second // for a server to stop, once the input has ended
)

// bound is the longest that the measured phase may take.
func (t *task) bound() time.Duration {
	if t.calls > 0 {
		return max(t.measure, callsTime)
	}
	return t.measure
}

// parseTask reads the flags of a command, "serve" or "load".
func parseTask(command string, args []string, peers Peers, stderr io.Writer) (*task, error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		peer     = flags.String("peer", "", "`name` of the peer")
		codec    = flags.String("codec", "", "`name` of the codec")
		addr     = flags.String("addr", "127.0.0.1:0", "host:port to listen on, or those of the servers with commas between")
		workload = flags.String("workload", string(contract.Echo), "what the callers do")
		callers  = flags.Int("callers", 1, "number of callers")
		conns    = flags.Int("conns", 0, "number of connections; 0: the peer's choice; -1: one for each caller")
		warmup   = flags.Float64("warmup", 1, "`seconds` to warm up at least")
		seconds  = flags.Float64("seconds", 3, "`seconds` to measure")
		calls    = flags.Int64("calls", 0, "main calls to make instead of a time")
		rate     = flags.Float64("rate", 0, "main calls a second to begin, whatever comes back; 0: each caller waits for its reply")
	)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *callers < 1 || *conns < PerCaller || *calls < 0 || *seconds == 0 ||
		!bounded(*warmup) || !bounded(*seconds) || !bounded(*rate) {
		return nil, errors.New("-callers and -seconds must be positive, -warmup, -calls and -rate not negative, -conns at least -1, and none of them endless")
	}
	t := &task{
		addrs: strings.Split(*addr, ","), callers: *callers, conns: *conns,
		warmup: duration(*warmup), measure: duration(*seconds), calls: *calls, rate: *rate,
	}
	var err error
	if t.peer, err = peers.Find(*peer); err != nil {
		return nil, err
	}
	if t.codec, err = msg.ParseCodec(*codec); err != nil {
		return nil, err
	}
	if t.workload, err = contract.ParseWorkload(*workload); err != nil {
		return nil, err
	}
	main, side := methods(t.workload)
	return t, errors.Join(t.peer.Supports(t.codec, main), t.peer.Supports(t.codec, side))
}

// bounded reports whether a flag is a number that a run can do something with.
func bounded(v float64) bool { return v >= 0 && v <= 1e9 }

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// methods are those of a workload's main and side calls.
func methods(w contract.Workload) (main, side msg.Method) {
	switch w {
	case contract.Slow:
		return msg.Say, msg.Slow
	case contract.Delay:
		return msg.Sleep, msg.Sleep
	case contract.Mixed:
		return msg.Say, msg.Medium
	case contract.Large:
		return msg.Say, msg.Large
	case contract.Math, contract.MathNew:
		return msg.Add, msg.Add
	}
	return msg.Say, msg.Say
}

const slowEvery = 100 // one call in this many is slow in the workload slow

// sideEvery is n when one call in n of each caller is a side call, or 0.
func (t *task) sideEvery() int64 {
	if t.workload == contract.Slow {
		return slowEvery
	}
	return 0
}

// sideCallers is how many callers make side calls only.
func (t *task) sideCallers() int {
	if t.workload == contract.Mixed || t.workload == contract.Large {
		return 1
	}
	return 0
}
