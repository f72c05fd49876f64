//go:build !linux

package growthtest

import "time"

// now is the time of the clock.
func now() time.Duration { return time.Duration(time.Now().UnixNano()) }
