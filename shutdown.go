package weft

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/announce"
	"github.com/weftrpc/weft/internal/wire"
)

// lingering is how long a drained connection waits for the peer to close.
const lingering = time.Second

// cutGrace is how long handlers whose contexts were cancelled at the end of a shutdown get to return.
const cutGrace = 500 * time.Millisecond

// closeWait is how long Close, and a Shutdown whose context has ended, wait for code of the user's that does not return: a hook, an
// authenticator, a registry.
const closeWait = 500 * time.Millisecond

// Shutdown ends the server without losing a call: it withdraws its services from the registry, closes the listeners, asks every client to
// make no more calls, waits until those under way have ended and their replies were read, and closes the connections.
//
// A registry that does not answer delays it by two seconds at most, and by no more than a quarter of the time that ctx gives.
//
// When ctx ends first, the contexts of the calls that still run are cancelled, their callers get Unavailable, the connections are closed,
// and Shutdown returns an error with the number of calls that were cut off and the cause of the end of ctx. That takes two seconds more at
// most, whatever handlers, hooks and other code of the user's do; what does not return is left behind.
func (s *Server) Shutdown(ctx context.Context) error {
	began := time.Now()
	s.mu.Lock()
	first := !s.closing // ListenAndServe shuts down too when it returns
	s.beginClosingLocked()
	s.mu.Unlock()
	// Withdrawn even when there is no time left: otherwise clients would go on connecting.
	leaving := s.withdraw()
	log := LoggerOf(s) // of a wrong configuration there is no other logger
	if first {
		peers, calls := s.Peers(), 0
		for _, p := range peers {
			calls += p.incoming()
		}
		log.Info("shutdown began", "connections", len(peers), "calls", calls)
	}
	waiting, cancel := context.WithTimeout(ctx, patience(ctx))
	select {
	case <-leaving:
	case <-waiting.Done():
	}
	cancel()
	s.mu.Lock()
	for l := range s.listeners {
		l.Close()
	}
	s.mu.Unlock()
	// Connections that were admitted just now still become peers: their hello is being written, which is bounded in time.
	s.admitted.Wait()
	peers := s.Peers()

	var cut atomic.Int64
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() { cut.Add(int64(s.drainPeer(p, ctx))) })
	}
	wg.Wait()
	s.close(ctx, closeWait)
	took := time.Since(began).Round(time.Millisecond)
	if n := cut.Load(); n > 0 {
		log.Warn("shutdown ended, and calls were cut off", "calls", n, "took", took)
		return Errorf(CodeOf(ctx.Err()), "weft: shutdown: %d calls were still running: %w", n, context.Cause(ctx))
	}
	if first {
		log.Info("shutdown ended", "took", took)
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

// Close ends the server at once: listeners and connections are closed, calls that run get their contexts cancelled and their callers an
// error whose outcome is unknown.
//
// Hooks and other code of the user's that does not return within half a second, and a registry that does not answer within two seconds, are
// left behind.
func (s *Server) Close() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.close(ended, announce.Timeout)
	return nil
}

// close ends all connections and waits for them until ctx has ended and closeWait has passed, and for the registry until ctx has ended and
// registryWait has passed.
func (s *Server) close(ctx context.Context, registryWait time.Duration) {
	s.mu.Lock()
	s.beginClosingLocked()
	s.closed = true
	for l := range s.listeners {
		l.Close()
	}
	clear(s.schemes)
	s.mu.Unlock()
	idle := s.conns.Close()
	s.stop()
	s.pending.Close()
	leaving := s.withdraw()
	s.admitted.Wait()
	for _, p := range s.Peers() {
		p.end()
	}
	s.awaitCode(ctx, idle, closeWait)
	s.exec.Close()
	s.host.overload.stop()
	s.awaitCode(ctx, leaving, registryWait)
	s.ended.Do(func() { close(s.over) })
}

// awaitCode waits for code of the user's until ctx has ended and wait has passed.
func (s *Server) awaitCode(ctx context.Context, idle <-chan struct{}, wait time.Duration) {
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
		s.pending.Sever()
		s.cfg.Logger.Error("the server is closed, and code of the user's has not returned: a hook, an authenticator, a door or a registry",
			"connections", s.conns.Count())
	}
}
