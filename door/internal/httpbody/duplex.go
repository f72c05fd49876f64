package httpbody

import (
	"context"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Duplex is the body of a request whose answer is sent while the body comes in.
type Duplex struct {
	w     nethttp.ResponseWriter
	r     *nethttp.Request
	stop  func() bool // unwatches the context of the call; nil: Begin was not called
	whole atomic.Bool

	mu       sync.Mutex // of answered, and of the deadline of reads
	answered bool
}

// restOfBody is how long net/http waits for the rest of a body that the handler did not receive.
const restOfBody = time.Second

// Begin begins to read the body, until the context of the call ends. Messages may take their time.
func (d *Duplex) Begin(ctx context.Context, w nethttp.ResponseWriter, r *nethttp.Request) {
	d.w, d.r = w, r
	_ = nethttp.NewResponseController(w).EnableFullDuplex()
	d.limit(time.Time{})
	// A handler that waits for a message is woken by the end of its context.
	d.stop = context.AfterFunc(ctx, d.wake)
}

func (d *Duplex) limit(t time.Time) {
	_ = nethttp.NewResponseController(d.w).SetReadDeadline(t) // an error is that of the connection
}

// wake ends the waiting for a message, unless the call has been answered: the next request of the connection
// has a time of its own.
func (d *Duplex) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.answered && !d.whole.Load() {
		d.limit(time.Unix(1, 0))
	}
}

// Whole notes that the whole body was read.
func (d *Duplex) Whole() { d.whole.Store(true) }

// Head has the connection end with the answer, whose header has not been sent, if messages may still come: net/http cannot
// read what is left of a body once reading it has failed, and would take it for the next request.
func (d *Duplex) Head(h nethttp.Header) {
	if d.stop != nil && !d.whole.Load() {
		h["Connection"] = []string{"close"}
	}
}

// Answered says that the call has been answered: what is left of the body has little time to come.
func (d *Duplex) Answered() {
	if d.stop == nil {
		return
	}
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered = true
	if !d.whole.Load() { // else net/http reads to notice that the client leaves
		d.limit(time.Now().Add(restOfBody))
	}
}

// Rest reads what is left of the body. net/http would do that when it has stopped to watch the connection, and begin to
// watch it again, beside the reading of the next request.
func (d *Duplex) Rest() {
	if d.stop == nil {
		return
	}
	_ = nethttp.NewResponseController(d.w).Flush()
	_ = d.r.Body.Close()
	d.limit(time.Time{})
}
