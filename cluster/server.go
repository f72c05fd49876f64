package cluster

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/verdict"
)

// server is one server, by its address, for all services that it has: its connections and what calls to it have shown.
type server struct {
	c       *Client
	address string
	stats   *balance.Stats
	health  *health.Tracker
	invalid error // the address is of no use

	link    atomic.Pointer[link]   // nil: the server is no longer listed
	down    atomic.Bool            // it could not be reached, or its last connection was lost
	loss    loss                   // the last time that it went down
	failure atomic.Pointer[string] // why it could not be reached since it is down; nil: it was not tried
	reached atomic.Bool            // it could be reached at some time
	counts  counts
	turns   atomic.Uint32 // how often down has changed
	used    atomic.Bool   // since the monitor last looked

	pinging atomic.Bool // a ping is under way
	alive   atomic.Bool // while it is ejected: it answers pings again

	lastUsed time.Time // belongs to the monitor
	started  time.Time // by its instance; guarded by the client's lock

	turning sync.Mutex // held while it goes down or comes up

	mu       sync.Mutex
	breakers atomic.Pointer[[]*breaker.Breaker] // by number of the method
}

// loss is how a server went down.
type loss struct {
	at       atomic.Int64 // on the client's clock
	expected atomic.Bool  // it has shut down
}

// link is the client of one server. A server that was not used for long gets a new one, which connects when it is used.
type link struct {
	s       *server
	client  *weft.Client
	conns   atomic.Int32  // open connections
	made    atomic.Uint32 // connections that were made
	blamed  atomic.Uint32 // made+1 of the last one whose loss was counted as a failure
	asked   atomic.Bool   // it was pinged while the server was down, and so connects
	retired atomic.Bool
	cut     atomic.Bool // it was closed because the server did not respond
}

// addressOf is the address of the server of an attempt; "": there was none.
func addressOf(s *server) string {
	if s == nil {
		return ""
	}
	return s.address
}

func newServer(c *Client, address string, since time.Duration) *server {
	s := &server{c: c, address: address, lastUsed: time.Now()}
	s.stats = balance.NewStats(since)
	s.health = c.panel.Add(address)
	s.breakers.Store(new([]*breaker.Breaker))
	l, err := s.newLink()
	if err != nil {
		s.invalid = err
		s.down.Store(true)
		return s
	}
	s.link.Store(l)
	c.totals.bytes.Opened(l.client, &s.counts.bytes)
	return s
}

func (s *server) newLink() (*link, error) {
	l := &link{s: s}
	cfg := s.c.connection
	cfg.Hooks = append(cfg.Hooks[:len(cfg.Hooks):len(cfg.Hooks)], l)
	var err error
	l.client, err = weft.Dial(context.Background(), s.address, &cfg)
	return l, err
}

// ConnOpened implements weft.ConnOpenedHook.
func (l *link) ConnOpened(*weft.Peer) {
	l.made.Add(1)
	l.conns.Add(1)
	l.s.cameUp(l)
}

// ConnClosed implements weft.ConnClosedHook.
func (l *link) ConnClosed(_ *weft.Peer, err error) {
	if l.conns.Add(-1) != 0 || l.retired.Load() {
		return
	}
	if e, ok := asError(err); ok && e.Reason == weft.ReasonDraining {
		l.s.wentDown(l, "it shuts down", true)
	} else {
		l.s.wentDown(l, "its connection was lost", false)
	}
}

// blame reports whether the loss of a connection still is to be counted as a failure. made is how many had been made when the call began.
// All calls that were in flight on it fail, but that is one event, and says nothing about their methods.
func (l *link) blame(made uint32) bool {
	for {
		last := l.blamed.Load()
		if made < last {
			return false
		}
		if l.blamed.CompareAndSwap(last, made+1) {
			return true
		}
	}
}

// follow notes what a failure says of whether the server can be reached.
func (s *server) follow(l *link, v verdict.Verdict) {
	if v.Gone == "" {
		return
	}
	// A connection that is open and takes no calls is one of a server that shuts down.
	s.wentDown(l, v.Gone, l.conns.Load() > 0)
	if v.Unreached {
		s.turning.Lock()
		defer s.turning.Unlock()
		if s.link.Load() == l && s.down.Load() {
			s.failure.Store(&v.Gone)
		}
	}
}

// wentDown notes that the server cannot be reached. Its client goes on trying. What is said of a client that the server no longer has
// counts for nothing. A shutdown is expected.
func (s *server) wentDown(l *link, why string, expected bool) {
	s.turning.Lock()
	defer s.turning.Unlock()
	if s.link.Load() != l || s.down.Load() {
		return
	}
	now := s.c.now()
	s.loss.at.Store(int64(now))
	s.failure.Store(nil)
	s.down.Store(true)
	s.turns.Add(1)
	s.counts.losses.Add(1)
	s.c.totals.losses.Add(1)
	s.health.Lost(now)
	level := slog.LevelWarn
	s.loss.expected.Store(expected)
	switch {
	case expected && s.c.closed.Load():
		level = slog.LevelDebug // it is this client that shuts down, and the server stays
	case expected:
		level = slog.LevelInfo
	}
	s.c.told.Server(level, "server lost", "addr", s.address, "why", why)
	s.c.kick()
}

// cameUp notes that the server can be reached.
func (s *server) cameUp(l *link) {
	s.turning.Lock()
	defer s.turning.Unlock()
	s.health.Connected(s.c.now())
	s.reached.Store(true)
	if s.link.Load() != l || !s.down.Load() {
		return
	}
	s.down.Store(false)
	s.failure.Store(nil)
	s.turns.Add(1)
	s.c.told.Server(slog.LevelInfo, "server reached", "addr", s.address)
	s.c.kick()
}

// unreachable reports whether the server is down and could not be reached since.
func (s *server) unreachable() bool {
	return s.invalid != nil || s.down.Load() && s.failure.Load() != nil
}

// graceLeft is for how long calls still wait for a server that is down and may just be restarting: one that this client has never reached
// is not waited for.
func (s *server) graceLeft(now time.Duration) time.Duration {
	if !s.reached.Load() || !s.down.Load() {
		return 0
	}
	return max(time.Duration(s.loss.at.Load())+s.c.cfg.RestartGrace-now, 0)
}

// hopeless reports whether it is of no use to wait for the server. A server that comes up meanwhile is not.
func (s *server) hopeless(now time.Duration) bool {
	s.turning.Lock()
	defer s.turning.Unlock()
	return s.unreachable() && s.graceLeft(now) == 0
}

// prospect says how likely the server takes a call, for servers of which none should get it: those that can be reached first.
func (s *server) prospect() int {
	switch {
	case !s.down.Load():
		return 2
	case !s.unreachable():
		return 1
	}
	return 0
}

// pingTimeout is how long an ejected server may take to answer a ping.
const pingTimeout = time.Second

// ping asks an ejected server whether it answers at all. If it does not, no call of the application is spent on it as a probe.
func (s *server) ping() {
	defer s.c.wg.Done()
	defer s.pinging.Store(false)
	l := s.link.Load()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.c.life, pingTimeout)
	defer cancel()
	err := l.client.Ping(ctx)
	s.alive.Store(err == nil)
	if err == nil {
		s.health.Answered(s.c.now())
		return
	}
	s.follow(l, verdict.Of(ctx, err, l.client.Peer() != nil))
	if weft.CodeOf(err) == weft.DeadlineExceeded && l.conns.Load() > 0 && s.c.life.Err() == nil {
		s.cut(l)
	}
}

// cut closes the connections of a server that answers neither calls nor a ping, so that the calls that wait there end, and can be made
// elsewhere if they may run twice. Its session would find out by itself, much later.
func (s *server) cut(l *link) {
	fresh, err := s.newLink()
	if err != nil || !s.link.CompareAndSwap(l, fresh) {
		return
	}
	s.c.totals.bytes.Opened(fresh.client, &s.counts.bytes)
	s.c.told.Server(slog.LevelWarn, "server does not respond, its connections are closed", "addr", s.address)
	l.cut.Store(true)
	l.retired.Store(true)
	l.client.Close()
	s.c.totals.bytes.Closed(l.client, s.c.now())
}

// connected reports whether there is a connection.
func (s *server) connected() bool {
	l := s.link.Load()
	return l != nil && l.conns.Load() > 0
}

// rest closes the connections of a server that is not used.
func (s *server) rest() {
	fresh, err := s.newLink()
	if err != nil {
		return // it could be made before
	}
	if l := s.link.Load(); l != nil && s.link.CompareAndSwap(l, fresh) {
		s.c.totals.bytes.Opened(fresh.client, &s.counts.bytes)
		s.retire(l)
	}
}

// leave closes the connections of a server that is no longer listed.
func (s *server) leave() { s.retire(s.link.Swap(nil)) }

func (s *server) retire(l *link) {
	if l == nil {
		return
	}
	l.retired.Store(true)
	s.c.retire(l)
}

// breakerIf returns the breaker of a method on this server; nil: it was not used yet, and so is closed.
func (s *server) breakerIf(number int) *breaker.Breaker {
	if all := *s.breakers.Load(); number < len(all) {
		return all[number]
	}
	return nil
}

// breaker returns the breaker of a method on this server.
func (s *server) breaker(number int) *breaker.Breaker {
	if all := *s.breakers.Load(); number < len(all) && all[number] != nil {
		return all[number]
	}
	return s.newBreaker(number)
}

func (s *server) newBreaker(number int) *breaker.Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.breakers.Load()
	if number < len(old) && old[number] != nil {
		return old[number]
	}
	grown := make([]*breaker.Breaker, max(len(old), number+1))
	copy(grown, old)
	grown[number] = s.c.breakers.New(rand.Uint64())
	s.breakers.Store(&grown)
	return grown[number]
}
