package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

// results are the records of any number of runs of core.
type results []harness.Record

func readFile(name string) (results, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// longestRecord is the longest line that is read, in bytes.
const longestRecord = 1 << 20

// read reads lines of JSON. A field that it does not know is an error: the
// record is of another version of core, and its figures may mean something else.
func read(r io.Reader) (results, error) {
	var all results
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestRecord)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var record harness.Record
		if err := strict(lines.Bytes(), &record); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, record)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no records")
	}
	return all, nil
}

// runs are the records of one kind of run, one for each round.
type runs []harness.Record

// of selects the runs that were made, without those that failed as a whole.
func (all results) of(work harness.Workload, peer string, codec msg.Codec, callers int) runs {
	var some runs
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

// field is one figure of a record.
type field func(harness.Record) float64

func callsPerSecond(r harness.Record) float64 { return r.CallsPerSec }
func processorTime(r harness.Record) float64  { return r.ClientCPU + r.ServerCPU }
func allocations(r harness.Record) float64    { return r.ClientAllocs + r.ServerAllocs }
func median50(r harness.Record) float64       { return r.P50 }
func tail99(r harness.Record) float64         { return r.P99 }
func others(r harness.Record) float64         { return r.OtherCPU }
func ideal(r harness.Record) float64          { return r.Ideal }
func stolen(r harness.Record) float64         { return r.Steal }

// figure is what the rounds say of one field.
type figure struct {
	median, least, most float64
	rounds              int
}

func (some runs) figure(f field) figure {
	values := make([]float64, len(some))
	for i, r := range some {
		values[i] = f(r)
	}
	return figureOf(values)
}

func figureOf(values []float64) figure {
	if len(values) == 0 {
		return figure{}
	}
	slices.Sort(values)
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return figure{median: median, least: values[0], most: values[len(values)-1], rounds: len(values)}
}

// over divides a field of each run by a field of the run of the others that was
// made nearest in time, so that both saw the machine in the same mood.
func (some runs) over(f field, others runs, g field) figure {
	if len(others) == 0 {
		return figure{}
	}
	var ratios []float64
	for _, r := range some {
		apart := func(o harness.Record) time.Duration { return o.Time.Sub(r.Time).Abs() }
		near := slices.MinFunc(others, func(a, b harness.Record) int { return cmp.Compare(apart(a), apart(b)) })
		if v := g(near); v > 0 {
			ratios = append(ratios, f(r)/v)
		}
	}
	return figureOf(ratios)
}

func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
