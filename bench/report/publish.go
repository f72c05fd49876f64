package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/records"
)

// publish makes records those of the documents: a whole comparison, or workloads of one,
// which replace the same workloads of the published records. A workload is replaced
// whole, because ratios are taken between runs that were made next to each other.
func publish(name, results string) error {
	file, err := records.ReadFile(name)
	if err != nil {
		return err
	}
	c := comparison.New(file)
	if len(c.Points(func(comparison.Point) bool { return true })) == 0 {
		return fmt.Errorf("%s: there are no runs of a comparison", name)
	}
	shown := filepath.Join(results, comparisonFile)
	published, err := records.ReadFile(shown)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(c.Callers()) == 0 {
			return fmt.Errorf("%s: no run of echo between two processes on one machine: want the records of a whole comparison, for there is none in %s", name, shown)
		}
		return records.Compress(name, shown)
	case err != nil:
		return err
	}
	if err := covers(c, comparison.New(published)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return records.Replace(name, shown)
}

// covers reports what the records of some workloads lack of those that they are to
// replace. Records of every workload are another comparison, which lacks nothing.
func covers(made, published *comparison.Comparison) error {
	measured := make(map[contract.Workload]bool)
	for _, p := range made.Points(func(comparison.Point) bool { return true }) {
		measured[p.Workload] = true
	}
	whole := true
	var lacks []string
	for _, p := range published.Points(func(comparison.Point) bool { return true }) {
		if !measured[p.Workload] {
			whole = false
			continue
		}
		for _, e := range published.Entries(p) {
			if len(made.At(p, e)) < len(published.At(p, e)) {
				lacks = append(lacks, e.String()+" at "+p.Title())
			}
		}
	}
	if whole || len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("fewer runs than are published of %s: measure the workload with all peers and rounds, or publish a whole comparison", strings.Join(lacks, "; "))
}
