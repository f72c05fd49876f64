package carriers

import "net"

// A connection of HTTP/2 whose server shuts down stays open until its calls have ended and takes no more of them. net/http does not
// tell that from one that is full, so the frames that arrive are looked at.

// The header of a frame of HTTP/2: three bytes of length, one of the type, and five more.
const (
	frameHeader = 9
	frameGoAway = 7
)

// watched is a connection of HTTP/2 that tells when a GOAWAY frame has arrived.
type watched struct {
	net.Conn
	goAway func()

	// One goroutine reads.
	header [frameHeader]byte
	have   int // bytes of header
	skip   int // bytes of the frame behind its header that are to come
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.look(b[:n])
	return n, err
}

// look goes over bytes that have arrived.
func (w *watched) look(b []byte) {
	for len(b) > 0 {
		if w.skip > 0 {
			n := min(w.skip, len(b))
			w.skip -= n
			b = b[n:]
			continue
		}
		n := copy(w.header[w.have:], b)
		w.have += n
		b = b[n:]
		if w.have < frameHeader {
			return
		}
		w.have, w.skip = 0, int(w.header[0])<<16|int(w.header[1])<<8|int(w.header[2])
		if w.header[3] == frameGoAway {
			w.goAway()
		}
	}
}
