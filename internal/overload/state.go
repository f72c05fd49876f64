package overload

// State is what a controller knows of its server at one moment.
type State struct {
	Limit     int64 // calls in flight that are let in; Most when there is none
	Most      int64
	InFlight  int64
	Prompt    float64    // the wait of the promptest calls of the last window, as a multiple of what it should be at most
	Decisions []Decision // the last ones, the latest first
}

// State returns the state. It closes windows that are over.
func (c *Controller) State(now int64) State {
	c.turn(now)
	c.mu.Lock()
	prompt := c.prompt
	c.mu.Unlock()
	return State{Limit: c.places.limit.Load(), Most: c.most, InFlight: c.inflight.Load(), Prompt: prompt, Decisions: c.journal.last()}
}

// MethodState is what is known of one method.
type MethodState struct {
	InFlight int64
	Limit    int64   // 0: none
	Rate     float64 // completions in a second, while calls queue; 0: not known
	Time     int64   // mean time in the handler, ns; 0: not known
	Least    int64   // the least of the last minute
	Mode     Mode
}

// State returns the state of the method.
func (m *Method) State(now int64) MethodState {
	if now >= m.next.Load() {
		m.turn(now)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := MethodState{InFlight: m.inflight.Load(), Limit: m.places.limit.Load(), Rate: m.past.x, Time: m.past.r, Least: m.probe.least(), Mode: m.probe.mode}
	if m.fixed > 0 {
		s.Limit = m.fixed
	}
	return s
}
