package main

import "time"

// times is how long each phase lasts, and two settings of the clients.
type times struct {
	speed, steady, kill, add, freeze, thaw, drain, away, back, slow time.Duration

	// The defaults of both suit servers that run for days.
	eject time.Duration // how long a server that has stalled gets no calls
	warm  time.Duration // until a new server has its full share
}

// full is the demonstration itself.
func full() times {
	const s = time.Second
	return times{
		speed:  2 * s,
		steady: 3 * s, kill: 3 * s, add: 4 * s, freeze: 4 * s, thaw: 5 * s, drain: 3 * s, away: 6 * s, back: 5 * s, slow: 4 * s,
		eject: 3 * s, warm: 3 * s,
	}
}

// short is just long enough to see that all works.
func short() times {
	const ms = time.Millisecond
	return times{
		speed: 400 * ms, steady: 500 * ms, kill: 700 * ms, add: 1000 * ms, freeze: 1800 * ms, thaw: 2000 * ms, drain: 500 * ms, away: 1500 * ms,
		back: 1000 * ms, slow: 2000 * ms, eject: 1000 * ms, warm: 500 * ms,
	}
}
