// Command cost measures what plugins add to a call: processor time, of server and client together, and
// allocations. Each is measured beside the same calls without it, in turns, and the difference of each
// turn counts, so that what else the machine does falls on both.
//
//	go run . -rounds 40 -calls 20000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/cputime"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 40, "how often each is measured")
	calls := flag.Int("calls", 20_000, "calls of each in a round")
	callers := flag.Int("callers", 16, "callers at the same time")
	profile := flag.String("profile", "", "a file for a profile of the processor time; with -only it is that of few plugins")
	only := flag.String("only", "", "of what is measured, those whose names match this expression, and what they are compared with")
	flag.Parse()
	stop, err := profiling(*profile)
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(run(context.Background(), os.Stdout, *only, *rounds, *calls, *callers), stop())
	if err != nil {
		log.Fatal(err)
	}
}

// profiling begins a profile, if there is a file for it.
func profiling(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// subject is one configuration that is measured.
type subject struct {
	name   string
	bare   bool // those behind it are measured beside it
	client *weft.Client
	caller func(c *weft.Client, i int) func(context.Context) error // makes a caller, by its number
	scrape func() error                                            // once in a round; nil: nothing
	close  func()

	times, allocs []float64 // beyond the bare one, of each round; the times of a bare one itself
}

func run(ctx context.Context, out io.Writer, only string, rounds, calls, callers int) error {
	names, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if rounds < 1 || calls < callers || callers < 1 {
		return fmt.Errorf("%d rounds of %d calls by %d callers measure nothing", rounds, calls, callers)
	}
	all, err := subjects(ctx, names)
	for _, s := range all {
		defer s.close()
	}
	if err != nil {
		return err
	}
	for _, s := range all {
		if _, _, err := s.measure(ctx, calls, callers); err != nil { // everything is warm then
			return err
		}
	}
	for range rounds {
		if err := round(ctx, all, calls, callers); err != nil {
			return err
		}
	}
	report(out, all)
	return nil
}

// round measures every subject between two measurements of the bare one before it.
func round(ctx context.Context, all []*subject, calls, callers int) error {
	var bare *subject
	var time, allocs float64 // of the bare one
	var err error
	for _, s := range all {
		if s.bare {
			if time, allocs, err = s.measure(ctx, calls, callers); err != nil {
				return err
			}
			bare = s
			bare.times = append(bare.times, time)
			continue
		}
		t, a, err := s.measure(ctx, calls, callers)
		if err != nil {
			return err
		}
		again, _, err := bare.measure(ctx, calls, callers)
		if err != nil {
			return err
		}
		s.times = append(s.times, t-(time+again)/2)
		s.allocs = append(s.allocs, a-allocs)
		time = again
	}
	return nil
}

// report writes a table.
func report(out io.Writer, all []*subject) {
	fmt.Fprintf(out, "| | processor time of a call | allocations |\n|---|---|---|\n")
	for _, s := range all {
		if s.bare {
			fmt.Fprintf(out, "| %s | %.2f µs | |\n", s.name, median(s.times))
		} else {
			fmt.Fprintf(out, "| %s | %s | %s |\n", s.name, signed(median(s.times), "%+.2f µs"), signed(median(s.allocs), "%+.1f"))
		}
	}
}

// signed leaves the sign of a zero out.
func signed(v float64, format string) string {
	text := fmt.Sprintf(format, v)
	if !strings.ContainsAny(text, "123456789") {
		text = text[1:]
	}
	return text
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// measure makes calls and returns the processor time in microseconds and the allocations of one.
func (s *subject) measure(ctx context.Context, calls, callers int) (us, allocs float64, err error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := cputime.Used()
	var wg sync.WaitGroup
	errs := make([]error, callers)
	each := calls / callers
	for i := range callers {
		wg.Go(func() {
			call := s.caller(s.client, i)
			for range each {
				if errs[i] = call(ctx); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, 0, err
		}
	}
	if s.scrape != nil {
		if err := s.scrape(); err != nil {
			return 0, 0, err
		}
	}
	took := cputime.Used()
	runtime.ReadMemStats(&after)
	made := float64(each * callers)
	return float64((took - began).Nanoseconds()) / 1000 / made, float64(after.Mallocs-before.Mallocs) / made, nil
}
