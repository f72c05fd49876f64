package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"
)

// sample is what the process holds at a moment.
type sample struct {
	at                              time.Duration
	live                            uint64 // bytes of objects that the last collection found in use
	held                            uint64 // bytes that the Go runtime has from the system
	resident                        uint64 // bytes of the process in memory; 0: not known on this system
	files, goroutines               int
	calls, failed, resets, restarts int64
}

const heading = "      time       calls  failed resets restarts   live MiB   held MiB    RSS MiB  files goroutines"

func (s sample) String() string {
	return fmt.Sprintf("%10v %11d %7d %6d %8d %10.1f %10.1f %10.1f %6d %10d", s.at.Round(time.Second), s.calls, s.failed, s.resets, s.restarts,
		mib(s.live), mib(s.held), mib(s.resident), s.files, s.goroutines)
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// take makes a sample after a collection, so that what is counted is in use.
func take(at time.Duration, l *load) sample {
	runtime.GC()
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(m)
	return sample{
		at: at, live: m[0].Value.Uint64(), held: m[1].Value.Uint64() - m[2].Value.Uint64(), resident: residentBytes(),
		files: openFiles(), goroutines: runtime.NumGoroutine(),
		calls: l.calls.Load(), failed: l.failed.Load(), resets: l.resets.Load(), restarts: l.restarts.Load(),
	}
}

// residentBytes is the memory of the process, where the system tells it as Linux does.
func residentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var all, resident uint64
	if _, err := fmt.Sscan(string(text), &all, &resident); err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}

// openFiles counts the file descriptors, where the system lists them as Linux does.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// growth compares the second quarter of the samples with the last: by then everything that is
// kept for reuse has its size.
func growth(samples []sample) error {
	if len(samples) < 8 {
		return nil // too few to tell
	}
	early, late := samples[len(samples)/4:len(samples)/2], samples[len(samples)*3/4:]
	var errs []error
	for _, what := range []struct {
		name  string
		of    func(sample) float64
		slack float64
	}{
		{"MiB of live objects", func(s sample) float64 { return mib(s.live) }, 8},
		{"MiB of memory", func(s sample) float64 { return mib(s.resident) }, 32},
		{"file descriptors", func(s sample) float64 { return float64(s.files) }, 8},
		{"goroutines", func(s sample) float64 { return float64(s.goroutines) }, 50},
	} {
		from, to := median(early, what.of), median(late, what.of)
		fmt.Printf("%s: %.1f in the second quarter, %.1f in the last\n", what.name, from, to)
		if to > from*1.15+what.slack {
			errs = append(errs, fmt.Errorf("%s grew from %.1f to %.1f", what.name, from, to))
		}
	}
	return errors.Join(errs...)
}

func median(samples []sample, of func(sample) float64) float64 {
	var all []float64
	for _, s := range samples {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// rest is what is left when everything has ended.
type rest struct {
	goroutines, files int
	stacks            string
}

// settled waits for what still ends by itself.
func settled() rest {
	for range 100 {
		if runtime.NumGoroutine() == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	debug.FreeOSMemory()
	r := rest{goroutines: runtime.NumGoroutine(), files: openFiles()}
	if r.goroutines > 1 {
		buf := make([]byte, 1<<20)
		r.stacks = string(buf[:runtime.Stack(buf, true)])
	}
	return r
}

func (r rest) String() string {
	return fmt.Sprintf("%d goroutine(s), %d file descriptors", r.goroutines, r.files)
}

func (r rest) check() error {
	if r.goroutines > 1 {
		return fmt.Errorf("%d goroutines are left:\n%s", r.goroutines-1, strings.TrimSpace(r.stacks))
	}
	return nil
}
