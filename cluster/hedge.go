package cluster

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/internal/aside"
	"github.com/weftrpc/weft/cluster/internal/twin"
	"github.com/weftrpc/weft/cluster/retry"
)

// hedgeAfter is how long to wait for the first attempt before a second server is asked; 0: it is not to be asked at all.
func (x *call) hedgeAfter(now time.Duration) time.Duration {
	after := x.m.hedgeAfter(now)
	if after == 0 || !x.idempotent() {
		return 0
	}
	left := retry.Forever
	if d, limited := x.until().Left(); limited {
		left = d
	}
	policy := x.p.retries(x.c.cfg.Retry)
	d := policy.Hedge(retry.Attempt{
		Number: 1, Idempotent: true, Left: left, Upstream: weft.AttemptFrom(x.ctx), Random: x.pick.Random,
	}, after)
	if !d.Again {
		return 0
	}
	return d.After
}

// ending is how one of two attempts has ended.
type ending struct {
	s      *server
	err    error
	number int
	end    aside.End
}

// hedged makes the call, and once more on another server if it takes longer than after. The first answer counts, and the other attempt is
// cancelled. A failure of the only attempt, or of both, is treated as in Failover.
func (x *call) hedged(after time.Duration) error {
	// What goroutines share must not make every call allocate.
	first := *x
	reply := first.reply
	settings, err := weft.SettingsOf(first.opts...)
	if err != nil {
		return err
	}
	back := settings.ReplyMetadata
	var backs [2]weft.Metadata // of the two attempts, which must not share one
	own := func(n int, opts ...weft.CallOption) []weft.CallOption {
		if back != nil {
			opts = append(opts, weft.WithReplyMetadata(&backs[n]))
		}
		return append(first.opts[:len(first.opts):len(first.opts)], opts...)
	}
	opts := own(0)
	ctx, cancel := context.WithCancel(first.ctx)
	defer cancel()
	ended := make(chan ending, 2)
	s := first.choose()
	if s == nil {
		return first.failed(nil, first.noServer())
	}
	one := first // an attempt notes when it ended
	// It ends with the attempt, which ctx ends at the latest.
	go ending{s: s}.of(&one, ctx, reply, opts, ended)

	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case e := <-ended:
		return first.sole(e, back, &backs)
	case <-timer.C:
	}
	second := first
	second.pick.Tried.Add(s.stats)
	second.pick.Now, second.pick.Random = first.c.now(), first.pick.Random*0x9e3779b97f4a7c15+1
	other := second.choose()
	if other == nil || other == s || second.m.service.throttled(&second, false) != nil || !first.c.budget.Withdraw(second.pick.Now) {
		return first.sole(<-ended, back, &backs)
	}
	first.m.hedges.Add(1)
	observer(first.c.cfg.Observe).tell(&first, Event{Kind: Hedging, After: after})
	// Two attempts must not decode into the same reply.
	second.reply = twin.Of(reply)
	again := first.until().Options(own(1, weft.WithAttempt(1)))
	// It ends like the first.
	go ending{s: other, number: 1}.of(&second, ctx, second.reply, again, ended)

	winner := <-ended
	if winner.end.Crashed() {
		cancel()
		<-ended // the other no longer touches args
		winner.end.Resume()
	}
	if winner.err != nil && !answered(winner.err) {
		// One failed; the other may still answer.
		loser := winner
		winner = <-ended
		winner.end.Resume()
		if winner.err != nil && !answered(winner.err) {
			first.pick.Tried.Add(s.stats)
			first.pick.Tried.Add(other.stats)
			if !unsent(winner.err) && !unsent(loser.err) {
				first.made = 1
			}
			if back != nil {
				*back = backs[winner.number]
			}
			if e, ok := asError(loser.err); ok && (e.Outcome == weft.OutcomeUnknown || e.Outcome == weft.Executed) {
				winner.err = loser.err // what says most of the call
			}
			return first.failed(loser.s, winner.err)
		}
	} else {
		cancel()
		loser := <-ended // which no longer touches its reply
		loser.end.Resume()
	}
	if winner.number == 1 && winner.err == nil {
		twin.Move(reply, second.reply)
	}
	if back != nil {
		*back = backs[winner.number]
	}
	return winner.err
}

// of makes one of the two attempts of a call, on a goroutine of its own, and sends how it has ended.
func (e ending) of(x *call, ctx context.Context, reply any, opts []weft.CallOption, ended chan<- ending) {
	defer func() { ended <- e }()
	e.end.Run(func() { e.err = x.send(e.s, ctx, reply, opts) })
}

// sole ends a call that had one attempt.
func (x *call) sole(e ending, back *weft.Metadata, backs *[2]weft.Metadata) error {
	e.end.Resume()
	if back != nil {
		*back = backs[e.number]
	}
	if e.err == nil {
		return nil
	}
	return x.failed(e.s, e.err)
}

// unsent reports whether an attempt failed before anything was sent.
func unsent(err error) bool {
	e, ok := asError(err)
	return ok && e.Outcome == weft.NotSent
}

// answered reports whether an error is a handler's answer that another attempt would hardly change.
func answered(err error) bool {
	e, ok := asError(err)
	return !ok || e.Outcome == weft.Executed && e.Code != weft.Unavailable
}
