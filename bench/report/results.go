package main

import (
	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/report/records"
)

// results are the records of any number of runs of the plan core.
type results records.Runs

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

// The codecs of weft's own goals.
const (
	raw     = "raw"
	vtproto = "vtproto"
	google  = "google"
)
