package cputime

import (
	"syscall"
	"time"
)

func used() time.Duration {
	own, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var began, ended, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(own, &began, &ended, &kernel, &user) != nil {
		return 0
	}
	return span(kernel) + span(user)
}

// span reads a Filetime that holds a duration, in units of 100 ns. Its method
// Nanoseconds is for points in time.
func span(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
