// Package cputime reads how much processor time this process has used.
package cputime

import "time"

// Used returns the user and system time of all threads of this process; 0 where
// the system does not say.
func Used() time.Duration { return used() }
