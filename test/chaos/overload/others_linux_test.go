package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// watchOthers begins to look at what other processes, and other machines on the same processors, take of
// this machine's processors. The function that it returns gives their share since then.
func watchOthers() func() float64 {
	busy, all := machineTime()
	own := ownTime()
	return func() float64 {
		b, a := machineTime()
		if a <= all {
			return 0
		}
		const ticks = 100 // a second, of /proc/stat
		return (b - busy - ticks*(ownTime()-own).Seconds()) / (a - all)
	}
}

// machineTime is what /proc/stat counts for all processors together: the time in which they worked, stolen
// time included, and all time.
func machineTime() (busy, all float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 7 { // guests are counted as user time too
			break
		}
		all += n
		if i != 3 && i != 4 { // idle, waiting for disks
			busy += n
		}
	}
	return busy, all
}

// ownTime is the processor time of this process and of its children that have ended.
func ownTime() (sum time.Duration) {
	for _, of := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(of, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
