package httpbody

import (
	"io"
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// Held is a body whose bytes count as held for the peer when they have been read, until Release is called. When there is no room for
// more, reading fails with a *weft.Error.
type Held struct {
	R    io.Reader
	Conn *weft.DoorConn

	held atomic.Int64
}

// Read implements io.Reader.
func (h *Held) Read(p []byte) (int, error) {
	n, err := h.R.Read(p)
	if n > 0 {
		h.held.Add(int64(n))
		if !h.Conn.Hold(n) {
			return n, weft.Errorf(weft.ResourceExhausted, "the server holds as many bytes for all its connections as it may (ServerConfig.MaxMemory); try again later").
				WithReason(weft.ReasonTooManyBytes)
		}
	}
	return n, err
}

// Release ends the counting of what was read so far.
func (h *Held) Release() {
	if n := h.held.Swap(0); n > 0 {
		h.Conn.Hold(-int(n))
	}
}
