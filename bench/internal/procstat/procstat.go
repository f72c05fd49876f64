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

	"golang.org/x/sys/unix"
)

// Usage is what one process has used since it started.
type Usage struct {
	CPU     time.Duration // user and system time of all its threads
	Reads   uint64        // read system calls of all kinds (not recvmsg)
	Writes  uint64        // write system calls of all kinds (not sendmsg)
	PeakRSS uint64        // bytes, the highest so far
}

// Since is the difference between two readings; PeakRSS is the later one.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		CPU:     u.CPU - before.CPU,
		Reads:   u.Reads - before.Reads,
		Writes:  u.Writes - before.Writes,
		PeakRSS: u.PeakRSS,
	}
}

// Plus is the usage of two processes together.
func (u Usage) Plus(o Usage) Usage {
	return Usage{
		CPU:     u.CPU + o.CPU,
		Reads:   u.Reads + o.Reads,
		Writes:  u.Writes + o.Writes,
		PeakRSS: u.PeakRSS + o.PeakRSS,
	}
}

// Of reads the usage of a process that runs.
func Of(pid int) (Usage, error) {
	var usage Usage
	folder := "/proc/" + strconv.Itoa(pid)
	var err error
	if usage.CPU, err = cpuOf(pid); err != nil {
		return Usage{}, err
	}
	io, err := os.ReadFile(folder + "/io")
	if err != nil {
		return Usage{}, fmt.Errorf("count system calls (needs Linux with task accounting): %w", err)
	}
	if usage.Reads, err = field(io, "syscr"); err != nil {
		return Usage{}, fmt.Errorf("%s/io: %w", folder, err)
	}
	if usage.Writes, err = field(io, "syscw"); err != nil {
		return Usage{}, fmt.Errorf("%s/io: %w", folder, err)
	}
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return Usage{}, fmt.Errorf("read the peak memory: %w", err)
	}
	peak, err := field(status, "VmHWM")
	if err != nil {
		return Usage{}, fmt.Errorf("%s/status: %w", folder, err)
	}
	usage.PeakRSS = peak << 10
	return usage, nil
}

// cpuOf reads the clock of a process's processor time, to the nanosecond, where
// /proc counts in steps of 10 ms. How its number is made of the process's is part
// of Linux's interface: clock_getcpuclockid(3) does the same.
func cpuOf(pid int) (time.Duration, error) {
	const schedulerTime = 2
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerTime), &now); err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
}

// CPUTime is the processor time of this process, to the microsecond.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	// It fails only for an address that is not the process's.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Mallocs is how many heap objects this process has allocated. It stops the world
// for some 50 µs (the count is exact only then), so it belongs before and after a
// measurement, not into it.
func Mallocs() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.Mallocs
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
