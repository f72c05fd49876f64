package main

import (
	"math"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// results are the records of any number of runs of the plan core.
type results records.Runs

func readFile(name string) (results, error) {
	file, err := records.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return results(file.Runs), nil
}

// of selects the runs that were made, without those that failed as a whole.
func (all results) of(work contract.Workload, peer string, codec string, callers int) records.Runs {
	var some records.Runs
	for _, r := range all {
		if r.Workload == work && r.Peer == peer && r.Codec == codec && r.Callers == callers && r.Calls > 0 {
			some = append(some, r)
		}
	}
	return some
}

// failures is how many calls of all runs failed.
func (all results) failures() (n int64) {
	for _, r := range all {
		n += r.Failures
	}
	return n
}

// The fields that the goals are about.
func callsPerSecond(r runner.Record) float64 { return r.CallsPerSec }
func processorTime(r runner.Record) float64  { return r.ClientCPU + r.ServerCPU }
func median50(r runner.Record) float64       { return r.P50 }
func tail99(r runner.Record) float64         { return r.P99 }
func others(r runner.Record) float64         { return r.OtherCPU }
func ideal(r runner.Record) float64          { return r.Ideal }
func stolen(r runner.Record) float64         { return r.Steal }

// allocations of both sides; a peer that does not count has none.
func allocations(r runner.Record) float64 {
	if r.ClientAllocs == nil || r.ServerAllocs == nil {
		return math.NaN()
	}
	return *r.ClientAllocs + *r.ServerAllocs
}

// The codecs of weft's own goals.
const (
	raw     = "raw"
	vtproto = "vtproto"
	google  = "google"
)
