package procstat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ is 100 on every Linux port of Go.
const tick = 10 * time.Millisecond

// Machine is the processor time of the whole machine since it started, summed
// over its processors, in steps of 10 ms.
type Machine struct {
	Busy    time.Duration // user, nice, system, irq and softirq
	SoftIRQ time.Duration // the part of Busy that soft interrupts took, charged to no process
	Steal   time.Duration // taken by other machines on the same host
	Idle    time.Duration // idle and waiting for a disk
}

// Since is the difference between two readings.
func (m Machine) Since(before Machine) Machine {
	return Machine{
		Busy:    m.Busy - before.Busy,
		SoftIRQ: m.SoftIRQ - before.SoftIRQ,
		Steal:   m.Steal - before.Steal,
		Idle:    m.Idle - before.Idle,
	}
}

// Total is all the processor time there was.
func (m Machine) Total() time.Duration { return m.Busy + m.Steal + m.Idle }

// ReadMachine reads /proc/stat.
func ReadMachine() (Machine, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}, err
	}
	return parseStat(string(text))
}

// parseStat reads the first line: cpu user nice system idle iowait irq softirq
// steal, then guest times that user and nice already hold.
func parseStat(text string) (Machine, error) {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	const columns = 8
	if len(words) < 1+columns || words[0] != "cpu" {
		return Machine{}, fmt.Errorf("/proc/stat begins with %q, want cpu and %d numbers", line, columns)
	}
	var ticks [columns]time.Duration
	for i := range ticks {
		n, err := strconv.ParseInt(words[1+i], 10, 64)
		if err != nil {
			return Machine{}, fmt.Errorf("/proc/stat: %q is not a number", words[1+i])
		}
		ticks[i] = time.Duration(n) * tick
	}
	return Machine{
		Busy:    ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6],
		SoftIRQ: ticks[6],
		Steal:   ticks[7],
		Idle:    ticks[3] + ticks[4],
	}, nil
}

// Load1 is the machine's load average over the last minute.
func Load1() (float64, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	return parseLoad(string(text))
}

func parseLoad(text string) (float64, error) {
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/loadavg begins with %q, not a number", first)
	}
	return load, nil
}

// Kernel is the release of the running kernel, or "unknown".
func Kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// CPU is the processor's name, or "unknown".
func CPU() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	return parseCPU(string(text))
}

func parseCPU(text string) string {
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
