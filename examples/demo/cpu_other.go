//go:build !unix

package main

import (
	"errors"
	"time"
)

func cpuTime() (time.Duration, error) {
	return 0, errors.New("the processor time of a process is read with getrusage, which this system does not have")
}
