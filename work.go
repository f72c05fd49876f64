package weft

import "time"

// work is what a host has done up to a moment: sums over all methods, those that were
// removed among them, so that it never gets smaller.
type work struct {
	calls uint64        // that have ended
	timed uint64        // of which it is known how long they took
	sum   time.Duration // how long those took
}

// work adds up the statistics of all methods.
func (h *host) work() work {
	var w work
	for _, s := range h.summaries() {
		w.calls += s.Calls()
		w.timed += s.Timed
		w.sum += s.Sum
	}
	return w
}

// inFlight is the number of calls that run now.
func (s *Server) inFlight() int {
	n := 0
	for _, p := range s.Peers() {
		n += p.incoming()
	}
	return n
}
