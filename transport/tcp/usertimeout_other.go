//go:build !linux

package tcp

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing: the option is Linux's own.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
