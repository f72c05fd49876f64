//go:build !linux

package tcp

// setMaxUnsent does nothing: the option is Linux's own.
func setMaxUnsent(uintptr) error { return nil }
