package target

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// Trace notes the attempts of calls.
type Trace struct {
	mu       sync.Mutex
	attempts []Attempt
	events   []string
	last     *weft.Peer // that a request was sent to
	picked   string     // the address of the server that the last attempt goes to

	server, wire string // of the one server that is called, if there is one
}

// BeforeWriteRequest implements weft.BeforeWriteRequestHook: an interceptor does not know the server.
func (t *Trace) BeforeWriteRequest(_ context.Context, info *weft.CallInfo, _ any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = info.Peer
	return nil
}

// Take returns what was noted, and forgets it.
func (t *Trace) Take() (attempts []Attempt, events []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	attempts, events = t.attempts, t.events
	t.attempts, t.events = nil, nil
	return attempts, events
}

// kept is how many attempts are kept: more are of no use to a reader.
const kept = 100

func (t *Trace) note(info *weft.CallInfo, from time.Time, err error) {
	a := Attempt{Took: time.Since(from), Opened: info.Stream, Err: err}
	t.mu.Lock()
	defer t.mu.Unlock()
	peer := info.Peer
	if peer == nil {
		peer, t.last = t.last, nil
	}
	if peer != nil {
		a.Server, a.Wire = peer.Addr().String(), peer.Wire()
	} else if e, ok := weftError(err); ok && e.Peer != "" {
		a.Server = e.Peer
	} else if t.server != "" {
		a.Server, a.Wire = t.server, t.wire // a stream
	} else {
		a.Server = t.picked // without a connection
	}
	if len(t.attempts) < kept {
		t.attempts = append(t.attempts, a)
	}
}

func (t *Trace) unary(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	from := time.Now()
	reply, err := next(ctx, info, req)
	t.note(info, from, err)
	return reply, err
}

func (t *Trace) stream(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	from := time.Now()
	s, err := next(ctx, info)
	t.note(info, from, err)
	return s, err
}

// observe notes what happens between attempts.
func (t *Trace) observe(_ context.Context, e cluster.Event) {
	text := string(e.Kind)
	if e.Address != "" {
		text += " " + e.Address
	}
	if e.After != 0 {
		text += fmt.Sprintf(" after %v", e.After.Round(time.Microsecond))
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind == cluster.Picked {
		t.picked = e.Address
	}
	if len(t.events) < kept {
		t.events = append(t.events, text)
	}
}
