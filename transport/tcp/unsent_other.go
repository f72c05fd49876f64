//go:build !linux

package tcp

import "syscall"

// setMaxUnsent does nothing: the option is Linux's own.
func setMaxUnsent(syscall.RawConn) error { return nil }
