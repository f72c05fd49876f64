// Package journal is what a client of many servers logs: what happens to its servers, breakers that open and close,
// calls that failed after all their attempts, and methods of which many calls are hedged.
package journal

import (
	"context"
	"log/slog"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

const (
	// lookEvery is the time between two looks at the breakers.
	lookEvery = time.Second
	// hedgesEvery is the time between two looks at the hedges.
	hedgesEvery = time.Minute

	mostLines   = 10  // in a second, about servers and about breakers
	manyHedges  = 0.1 // of the calls; by the delay of a hedge about one in twenty is
	leastHedges = 10
)

// Journal is that of one client. It is made by New. Server, GaveUp and Unpaid may be called from any goroutine, and the others from one.
type Journal struct {
	log *slog.Logger

	gaveUp, unpaid logger.Sparse
	news, trouble  logger.Sparse // of servers, by level: below slog.LevelWarn, and the others

	looked, counted time.Duration // when Due and HedgesDue were true last, on the client's clock
	open            map[place]struct{}
	hedged          map[string]Method // by name
}

// place is a method on a server.
type place struct{ address, method string }

// Breaker is a breaker that is not closed.
type Breaker struct{ Address, Method, Why string }

// Method is how many calls of a method there were, and how many of them were hedged.
type Method struct {
	Name          string
	Calls, Hedges uint64
}

// New makes the journal of a client that logs with log.
func New(log *slog.Logger) *Journal {
	return &Journal{log: log, news: logger.Sparse{Most: mostLines}, trouble: logger.Sparse{Most: mostLines}}
}

// Server notes what has happened to a server, with the attributes that slog takes. Of many servers that something happens to in the
// same second some are told of in full.
func (j *Journal) Server(level slog.Level, what string, attrs ...any) {
	ctx, sparse := context.Background(), &j.news
	if level >= slog.LevelWarn {
		sparse = &j.trouble
	}
	if j.log.Enabled(ctx, level) && sparse.Allow(func(left int) { j.log.Log(ctx, level, "more news of servers", "times", left) }) {
		j.log.Log(ctx, level, what, attrs...)
	}
}

// GaveUp notes a call that failed and is not made again after so many attempts, the last one at a server. The message of its error is the handler's, and may be
// private.
func (j *Journal) GaveUp(method, address string, attempts int, err *weft.Error) {
	if attempts < 2 || err.Code == weft.Canceled {
		return
	}
	if j.gaveUp.Allow(func(left int) { j.log.Warn("retries exhausted: more calls", "times", left) }) {
		j.log.Warn("retries exhausted", "method", method, "attempts", attempts, "code", err.Code.String(), "reason", err.Reason, "addr", address)
	}
}

// Unpaid notes a call that failed and is not made again, since the budget is spent.
func (j *Journal) Unpaid(method, address string, err *weft.Error) {
	if j.unpaid.Allow(func(left int) { j.log.Warn("retry budget exhausted: more calls", "times", left) }) {
		j.log.Warn("retry budget exhausted", "method", method, "code", err.Code.String(), "reason", err.Reason, "addr", address)
	}
}

// Due reports whether it is time to call Breakers.
func (j *Journal) Due(now time.Duration) bool { return due(&j.looked, now, lookEvery) }

// HedgesDue reports whether it is time to call Hedges.
func (j *Journal) HedgesDue(now time.Duration) bool { return due(&j.counted, now, hedgesEvery) }

func due(last *time.Duration, now, every time.Duration) bool {
	if now-*last < every {
		return false
	}
	*last = now
	return true
}

// Breakers takes all breakers that are not closed now. One that was among them before has closed, or its server is no longer listed.
func (j *Journal) Breakers(all []Breaker, listed func(address string) bool) {
	if len(all) == 0 && len(j.open) == 0 {
		return
	}
	before := j.open
	j.open = make(map[place]struct{}, len(all))
	opened, closed := 0, 0
	for _, b := range all {
		at := place{b.Address, b.Method}
		j.open[at] = struct{}{}
		if _, was := before[at]; was {
			continue
		}
		if opened++; opened <= mostLines {
			j.log.Warn("breaker opened", "addr", b.Address, "method", b.Method, "why", b.Why)
		}
	}
	for at := range before {
		if _, is := j.open[at]; is || !listed(at.address) {
			continue
		}
		if closed++; closed <= mostLines {
			j.log.Info("breaker closed", "addr", at.address, "method", at.method)
		}
	}
	if opened > mostLines {
		j.log.Warn("breaker opened: more breakers", "times", opened-mostLines)
	}
	if closed > mostLines {
		j.log.Info("breaker closed: more breakers", "times", closed-mostLines)
	}
}

// Hedges takes what was counted of all methods whose calls may be hedged.
func (j *Journal) Hedges(all []Method) {
	if j.hedged == nil {
		j.hedged = make(map[string]Method)
	}
	for _, m := range all {
		before := j.hedged[m.Name]
		j.hedged[m.Name] = m
		calls, hedges := m.Calls-before.Calls, m.Hedges-before.Hedges
		if hedges >= leastHedges && float64(hedges) > manyHedges*float64(calls) {
			j.log.Warn("many calls are hedged", "method", m.Name, "calls", calls, "hedges", hedges, "in", hedgesEvery)
		}
	}
}
