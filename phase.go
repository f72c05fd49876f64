package weft

// Phase is where a server is in its life.
type Phase uint8

// The phases of a server, in order.
const (
	Starting     Phase = iota // it serves no listener yet, or none any more
	Serving                   // it takes calls
	ShuttingDown              // calls in flight end, and no new ones are taken
	ShutDown                  // it has ended
)

// String is the name of the phase, for example "shutting down".
func (p Phase) String() string {
	return [...]string{"starting", "serving", "shutting down", "shut down"}[p&3]
}

// Phase is where the server is in its life.
func (s *Server) Phase() Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ShutDown
	case s.closing:
		return ShuttingDown
	case len(s.listeners) > 0:
		return Serving
	}
	return Starting
}

// Draining is closed when the server begins to shut down. A handler of a stream that lasts should return then: the server waits for it.
func (s *Server) Draining() <-chan struct{} { return s.draining }

// beginClosingLocked notes that the server shuts down.
func (s *Server) beginClosingLocked() {
	if !s.closing {
		s.closing = true
		close(s.draining)
	}
}
