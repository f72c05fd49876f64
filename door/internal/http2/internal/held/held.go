// Package held bounds the messages of streams that wait for the windows of HTTP/2, which last for as long as the peer does not read them.
package held

// Held counts their bytes.
type Held struct {
	Bytes  int
	Closed int         // bytes below which a message may be added whose window is closed
	Open   int         // the same for one whose window is open
	Scarce func() bool // whether there is so little memory that Closed is the bound of both; nil: never
}

// Room reports whether one more message may be added.
func (h *Held) Room(open bool) bool {
	return h.Bytes < h.Closed || open && h.Bytes < h.Open && (h.Scarce == nil || !h.Scarce())
}

// Add counts n bytes more, or fewer, and reports whether there may be room that was not there.
func (h *Held) Add(n int) (freed bool) {
	was := h.Bytes
	h.Bytes += n
	return was >= h.Closed && h.Bytes < h.Closed || was >= h.Open && h.Bytes < h.Open
}
