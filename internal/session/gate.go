package session

import "github.com/weftrpc/weft/internal/wire"

// Gate decides which calls of a method are taken, before anything but their headers and metadata was looked at. It is not asked about calls
// that are so short that they run on the reader: there is nothing for which they wait.
type Gate interface {
	// Admit returns nil, or how the call is refused. It is called by the reader, and must neither wait nor panic.
	Admit(c *Context) *Refusal
	// Dropped tells that a call which was admitted has ended without Serve.
	Dropped(c *Context)
}

// Refusal is a status with which many calls are refused, encoded once.
type Refusal struct {
	status wire.Status
	body   []byte
}

// NewRefusal encodes a status, whose outcome becomes Refused.
func NewRefusal(st wire.Status) *Refusal {
	st.Outcome = wire.Refused
	return &Refusal{status: st, body: wire.AppendStatus(nil, &st)}
}

// admit asks the gate of the method, if it has one.
func (m *Method) admit(c *Context) *Refusal {
	if m.Gate == nil {
		return nil
	}
	r := m.Gate.Admit(c)
	c.gated = r == nil
	return r
}

// Gated reports whether a gate has admitted the call.
func (c *Context) Gated() bool { return c.gated }

// drop tells the gate that an admitted call will not be served.
func (c *Context) drop() {
	if c.gated {
		c.gated = false
		c.Method.Gate.Dropped(c)
	}
}

// answer answers a request that will not be run.
func (r *Refusal) answer(s *Session, id uint32) {
	s.refused(&r.status)
	s.w.Lock()
	if !s.w.ClosedLocked() {
		h := wire.Header{Type: wire.TypeError, Flags: wire.FlagAnswer | wire.FlagRefused, Code: uint16(r.status.Code), ID: id}
		m := message{bytes: r.body, size: len(r.body)}
		s.w.putLocked(h, &m)
	}
	s.w.Unlock()
}
