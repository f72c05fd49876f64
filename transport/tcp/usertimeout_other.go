//go:build !linux

package tcp

import "time"

// setUserTimeout does nothing: the option is Linux's own.
func setUserTimeout(uintptr, time.Duration) error { return nil }
