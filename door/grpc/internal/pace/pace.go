// Package pace tells whether the messages of a stream are sent one right behind another.
package pace

import "time"

// Pace is that of a stream. The zero value is ready; it is for one goroutine at a time.
type Pace struct {
	last int64 // when one was sent
	run  int   // how many were sent right behind another
}

const (
	// Behind is how soon a message comes, in nanoseconds, that is right behind another.
	Behind = int64(50 * time.Microsecond)
	// Run is how many such messages make a run.
	Run = 4
)

// Next notes that a message is sent at a time, in nanoseconds, and reports whether it belongs to a run.
func (p *Pace) Next(now int64) bool {
	if p.last == 0 || now-p.last > Behind {
		p.run = 0
	} else {
		p.run++
	}
	p.last = now
	return p.run >= Run
}
