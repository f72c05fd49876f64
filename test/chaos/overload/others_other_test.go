//go:build !linux

package main

// watchOthers is not implemented for this system: it sees no other processes.
func watchOthers() func() float64 { return func() float64 { return 0 } }
