//go:build unix

package main

import (
	"fmt"
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has had, its own and the
// kernel's for it.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
