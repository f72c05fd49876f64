package floorpeer

import (
	"net"
	"sync"

	"github.com/weftrpc/weft/bench/msg"
)

// waits marks the slot of a request whose handler waits.
const waits = 1 << 31

// waiting answers the requests of a connection whose handlers wait, each on a
// goroutine, which is used again.
type waiting struct {
	writer
	respond  msg.Responder
	requests chan request
	handlers sync.WaitGroup
}

// request is one that its goroutine owns.
type request struct {
	slot uint32
	body []byte
}

func newWaiting(conn net.Conn, respond msg.Responder) *waiting {
	return &waiting{writer: writer{socket: conn}, respond: respond, requests: make(chan request)}
}

// begin has a request answered.
func (w *waiting) begin(slot uint32, body []byte) {
	r := request{slot, append([]byte(nil), body...)}
	w.open.Add(1)
	select {
	case w.requests <- r:
	default:
		w.handlers.Go(func() { w.answer(r) }) // ends with the connection
	}
}

func (w *waiting) answer(r request) {
	var reply []byte
	for ok := true; ok; r, ok = <-w.requests {
		var err error
		reply, err = w.respond(reply[:0], msg.Sleep, r.body)
		if err == nil {
			err = w.send(r.slot, func(out []byte) ([]byte, error) { return append(out, reply...), nil }, nil)
		}
		if err != nil {
			w.socket.Close() // the reader notices
		}
		w.open.Add(-1)
	}
}

// end waits for the goroutines.
func (w *waiting) end() {
	close(w.requests)
	w.handlers.Wait()
}
