package weft

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// lingering is how long a drained connection waits for the peer to close.
const lingering = time.Second

// cutGrace is how long handlers whose contexts were cancelled at the end of a
// shutdown get to return.
const cutGrace = 500 * time.Millisecond

// Shutdown ends the server without losing a call: it withdraws its services from
// the registry, closes the listeners, asks every client to make no more calls, waits
// until those under way have ended and their replies were read, and closes the
// connections.
//
// A registry that does not answer delays it by two seconds at most, and by no more than a
// quarter of the time that ctx gives.
//
// When ctx ends first, the contexts of the calls that still run are cancelled,
// their callers get Unavailable, the connections are closed, and Shutdown returns an
// error with the number of calls that were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	// Withdrawn even when there is no time left: otherwise clients would go on connecting.
	leaving := s.announcer.withdraw()
	waiting, cancel := context.WithTimeout(ctx, patience(ctx))
	await(waiting, leaving)
	cancel()
	s.mu.Lock()
	for l := range s.listeners {
		l.Close()
	}
	s.mu.Unlock()
	// Connections that were admitted just now still become peers: their hello is being
	// written, which is bounded in time.
	s.admitted.Wait()
	peers := s.Peers()

	var cut atomic.Int64
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() { cut.Add(int64(s.drainPeer(p, ctx))) })
	}
	wg.Wait()
	s.close()
	if n := cut.Load(); n > 0 {
		return Errorf(DeadlineExceeded, "weft: shutdown: %d calls were still running when time was up", n)
	}
	return nil
}

// drainPeer drains one connection and returns how many calls were cut off.
func (s *Server) drainPeer(p *Peer, ctx context.Context) (cut int) {
	if p.door != nil {
		return p.door.drain(ctx)
	}
	if p.s.Drain(ctx.Done(), "the server is shutting down") {
		p.s.Leave(lingering)
		return 0
	}
	cut = p.s.Incoming()
	st := &wire.Status{Code: wire.Unavailable, Outcome: wire.Executed, Reason: wire.ReasonShutdown,
		Message: "the server shut down before the call had ended"}
	p.s.CancelIncoming(st)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutGrace)
	defer cancel()
	if !p.s.Settle(grace.Done()) {
		p.s.CutIncoming(st)
	}
	p.s.Leave(cutGrace)
	return cut
}

// Close ends the server at once: listeners and connections are closed, calls that
// run get their contexts cancelled and their callers an error whose outcome is unknown.
func (s *Server) Close() error {
	s.close()
	return nil
}

func (s *Server) close() {
	s.mu.Lock()
	s.closing, s.closed = true, true
	for l := range s.listeners {
		l.Close()
	}
	clear(s.schemes)
	s.mu.Unlock()
	s.stop()
	leaving := s.announcer.withdraw()
	s.admitted.Wait()
	for _, p := range s.Peers() {
		p.end()
	}
	s.conns.Wait()
	s.exec.Close()
	await(context.Background(), leaving)
	s.ended.Do(func() { close(s.over) })
}
