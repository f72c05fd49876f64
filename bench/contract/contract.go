package contract

import (
	"fmt"
	"slices"
)

// Workload is what the callers of a run do.
type Workload string

// The workloads.
const (
	Echo    Workload = "echo"     // every call is Hello.Say
	Slow    Workload = "slow"     // one call in a hundred is Hello.Slow, at the side
	Delay   Workload = "delay"    // every call is Hello.Sleep
	Mixed   Workload = "mixed"    // Hello.Say, while one caller more loops over Hello.Medium, replies of 1 MiB
	Large   Workload = "large"    // the same with Hello.Large, replies of 8 MiB
	Math    Workload = "math"     // every call is MathService.Add
	MathNew Workload = "math-new" // the same, each on a connection of its own
)

// Workloads lists them all.
func Workloads() []Workload { return []Workload{Echo, Slow, Delay, Mixed, Large, Math, MathNew} }

// ParseWorkload accepts the names above.
func ParseWorkload(name string) (Workload, error) {
	for _, w := range Workloads() {
		if string(w) == name {
			return w, nil
		}
	}
	return "", fmt.Errorf("unknown workload %q; there are %q", name, Workloads())
}

// Description is one line of the answer to "describe".
type Description struct {
	Peer      string     `json:"peer"`     // what -peer selects
	Language  string     `json:"language"` // such as "Go"
	Version   string     `json:"version"`  // of the framework, and of its runtime
	Settings  string     `json:"settings"` // how it is configured, for the report
	Codecs    []string   `json:"codecs"`   // the best first
	Workloads []Workload `json:"workloads"`

	// MaxCallers is how many callers the peer can serve at most, and why; 0 for any number.
	MaxCallers    int    `json:"max_callers,omitempty"`
	MaxCallersWhy string `json:"max_callers_why,omitempty"`

	// Client is the peer whose client this one uses before a server of weft. Such a peer is
	// measured beside that one by the plan doors alone, and so is a peer that names itself.
	Client string `json:"client,omitempty"`

	Warmup float64 `json:"warmup_s,omitempty"` // the least warm-up that the peer needs, in seconds
	Usage  bool    `json:"usage,omitempty"`    // whether it counts its allocations
}

// Raw is the codec that is none: bytes go to and fro as they are. They have no
// numbers to add, so it has no part in Math and MathNew, except where a peer has
// nothing but Raw and lays the numbers out itself.
const Raw = "raw"

// Supports reports whether the peer takes part in a workload with a codec.
func (d Description) Supports(w Workload, codec string) bool {
	if codec == Raw && len(d.Codecs) > 1 && (w == Math || w == MathNew) {
		return false
	}
	return slices.Contains(d.Workloads, w) && slices.Contains(d.Codecs, codec)
}

// The kinds of [Event].
const (
	Ready  = "ready"  // from serve: clients may connect to Addr
	Usage  = "usage"  // from serve: Allocs so far
	Warm   = "warm"   // from load: connected, warmed up and idle
	Result = "result" // from load: what was measured
	Failed = "failed" // from both: the program cannot go on, because of Error
)

// The orders, each a line on a program's standard input.
const (
	OrderUsage = "usage" // to serve: report the usage
	OrderGo    = "go"    // to load: begin the measured phase
)

// Event is one line that serve or load prints.
type Event struct {
	Event  string `json:"event"`
	Addr   string `json:"addr,omitempty"`
	Error  string `json:"error,omitempty"`
	Allocs uint64 `json:"allocs,omitempty"` // of a usage event: heap objects allocated so far; of a result: in the measured phase

	*Measured
}

// Measured is what load found in the measured phase; failures are those of the
// warm-up too.
type Measured struct {
	Conns      int          `json:"conns"` // connections that were open
	Warmup     float64      `json:"warmup_s"`
	Seconds    float64      `json:"seconds"` // length of the measured phase
	Calls      int64        `json:"calls"`   // main calls that succeeded
	Late       int64        `json:"late"`    // those of them that ended after the phase
	Failures   int64        `json:"failures"`
	FirstError string       `json:"first_error,omitempty"`
	CPU        int64        `json:"cpu_ns,omitempty"` // processor time of the process in the phase; without it the parent reads /proc
	Main       Distribution `json:"main"`
	Side       Distribution `json:"side"`
}
