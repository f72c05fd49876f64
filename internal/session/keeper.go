package session

import (
	"fmt"
	"os"
	"time"

	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/keepalive"
)

// keeper looks at a session from time to time. It ends one whose hello does not come, whose write makes no progress, or whose
// peer is gone (package keepalive), and has one read for which no goroutine reads.
type keeper struct {
	s     *Session
	timer *time.Timer // nil: there is nothing to look for
	began int64
	young time.Duration // until the next look at a session whose calls read for themselves
}

// keeperOwner is a session as its keepalive.Keeper sees it.
type keeperOwner Session

func (*keeperOwner) Now() int64 { return now() }

func (o *keeperOwner) Rouse() { o.direct.rouse() }

// pings are the limits of package keepalive.
func (l *Limits) pings() keepalive.Limits {
	return keepalive.Limits{Interval: l.PingInterval, Idle: l.PingIdle, Timeout: l.PingTimeout, WritesEnd: l.WriteTimeout > 0}
}

// firstLook to twice firstLook is how long a session that was opened for its first calls waits for one of them before it sends its hello
// and reads. It waits longer the longer calls have read for themselves.
const firstLook = 2 * time.Millisecond

// start starts the timer at a time.
func (k *keeper) start(s *Session, at int64) {
	l := &s.cfg.Limits
	if l.PingInterval <= 0 && l.WriteTimeout <= 0 && s.Met() {
		return
	}
	k.s, k.began = s, at
	s.w.Lock()
	defer s.w.Unlock()
	k.timer = time.AfterFunc(k.next(at, false), k.look)
}

// next is the time until the next look: when a limit could be reached at the earliest. busy says that calls are open.
func (k *keeper) next(at int64, busy bool) time.Duration {
	s, l := k.s, &k.s.cfg.Limits
	d := s.alive.Next(at, busy)
	if l.WriteTimeout > 0 {
		d = min(d, l.WriteTimeout/4)
	}
	if !s.Met() {
		d = min(d, time.Duration(k.began-at)+l.HandshakeTimeout)
	}
	if !s.Met() || s.direct.unattended() {
		k.young = min(2*k.young, gateMost)
		if k.young == 0 {
			// Sessions that begin at about the same time are looked at together, each a little later than the one before: a timer earlier
			// than all others would have the runtime wake a thread to take it up.
			k.young = firstLook
			into := time.Duration(at) % firstLook
			return 2*firstLook - into + into/16
		}
		d = min(d, k.young)
	}
	return max(d, time.Millisecond)
}

func (k *keeper) look() {
	s, at := k.s, now()
	if s.failed.Load() != nil {
		return
	}
	l := &s.cfg.Limits
	if !s.Met() && at-k.began >= int64(l.HandshakeTimeout) {
		s.fail(greeting.Status(os.ErrDeadlineExceeded, l.HandshakeTimeout))
		return
	}
	if !s.Met() || s.direct.unattended() {
		s.direct.rouse() // which sends the hello, if no call has
	}
	s.w.Lock()
	stuck := s.w.LookLocked(at)
	busy := s.out.Open() > 0 || s.in.running.Load() > 0
	s.w.Unlock()

	if l.WriteTimeout > 0 && stuck != 0 && at-stuck >= int64(l.WriteTimeout) {
		s.fail(unavailable(fmt.Sprintf("the peer has read nothing for %v (Limits.WriteTimeout)", l.WriteTimeout)))
		return
	}
	if s.Met() && !s.alive.Look(at, busy) {
		s.fail(unavailable(fmt.Sprintf("no answer to a ping within %v (Limits.PingTimeout)", l.PingTimeout)))
		return
	}
	s.w.Lock()
	defer s.w.Unlock()
	if !s.w.ClosedLocked() {
		k.timer.Reset(k.next(at, busy))
	}
}

// stop stops the timer when the session s has ended. That of a session whose calls read for themselves goes on: keeper.look finds the end.
func (k *keeper) stop(s *Session) {
	s.w.Lock()
	defer s.w.Unlock()
	if k.timer != nil && !s.direct.unattended() {
		k.timer.Stop()
	}
}
