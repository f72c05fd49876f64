//go:build !linux

package growthtest

import "time"

// timed returns the time that f takes by the clock.
func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
