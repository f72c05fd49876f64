// Package held bounds the messages of streams that wait for the windows of HTTP/2, which last for as long as the peer does not read them.
package held

// Held counts their bytes.
type Held struct {
	Bytes  int
	Closed int  // bytes below which a message may be added whose window is closed
	Open   int  // the same for one whose window is open
	Scarce bool // there is little memory: Closed is the bound of both
}

// Room reports whether one more message may be added.
func (h *Held) Room(open bool) bool {
	if open && !h.Scarce {
		return h.Bytes < max(h.Open, h.Closed)
	}
	return h.Bytes < h.Closed
}

// Add counts n bytes more, or fewer, and reports whether there is room that was not there.
func (h *Held) Add(n int) (freed bool) {
	open, closed := h.Room(true), h.Room(false)
	h.Bytes += n
	return !open && h.Room(true) || !closed && h.Room(false)
}
