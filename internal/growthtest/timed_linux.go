package growthtest

import (
	"runtime"
	"syscall"
	"time"
)

// timed returns the processor time that the calling thread takes for f.
func timed(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD of getrusage(2)
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		panic(err) // it has been there since Linux 2.6.26
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
