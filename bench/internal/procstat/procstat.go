// Package procstat reads what a process and the machine have used so far, from
// getrusage, the runtime and Linux's /proc.
package procstat

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what one process has used since it started.
type Usage struct {
	CPU     time.Duration `json:"cpu"`      // user and system time of all its threads
	Mallocs uint64        `json:"mallocs"`  // heap objects allocated
	Reads   uint64        `json:"reads"`    // read system calls of all kinds (not recvmsg)
	Writes  uint64        `json:"writes"`   // write system calls of all kinds (not sendmsg)
	PeakRSS uint64        `json:"peak_rss"` // bytes, the highest so far
}

// Since is the difference between two readings; PeakRSS is the later one.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		CPU:     u.CPU - before.CPU,
		Mallocs: u.Mallocs - before.Mallocs,
		Reads:   u.Reads - before.Reads,
		Writes:  u.Writes - before.Writes,
		PeakRSS: u.PeakRSS,
	}
}

// Self reads the usage of this process. It stops the world for some 50 µs (the
// allocation count is exact only then), so it belongs before and after a
// measurement, not into it.
func Self() (Usage, error) {
	var usage Usage
	var rusage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &rusage); err != nil {
		return Usage{}, fmt.Errorf("getrusage: %w", err)
	}
	usage.CPU = time.Duration(rusage.Utime.Nano() + rusage.Stime.Nano())

	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return Usage{}, fmt.Errorf("count system calls (needs Linux with task accounting): %w", err)
	}
	if usage.Reads, err = field(io, "syscr"); err != nil {
		return Usage{}, fmt.Errorf("/proc/self/io: %w", err)
	}
	if usage.Writes, err = field(io, "syscw"); err != nil {
		return Usage{}, fmt.Errorf("/proc/self/io: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Usage{}, fmt.Errorf("read the peak memory: %w", err)
	}
	peak, err := field(status, "VmHWM")
	if err != nil {
		return Usage{}, fmt.Errorf("/proc/self/status: %w", err)
	}
	usage.PeakRSS = peak << 10

	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	usage.Mallocs = memory.Mallocs
	return usage, nil
}

// field finds "name: 123" or "name: 123 kB" on a line of its own.
func field(text []byte, name string) (uint64, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), ":")
		if !found || key != name {
			continue
		}
		value = strings.TrimSuffix(strings.TrimSpace(value), " kB")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is %q, not a number", name, value)
		}
		return n, nil
	}
	return 0, fmt.Errorf("no field %s", name)
}
