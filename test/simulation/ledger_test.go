package simulation

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// ledger keeps what was asked for, what ran and what callers were told.
type ledger struct {
	began time.Time

	mu      sync.Mutex
	entries map[int64]*entry
	order   []*entry
	serial  int64
	faults  []string // what was wrong at the moment when it happened
}

// entry is one call.
type entry struct {
	id     int64
	caller string
	plan   callPlan
	kind   kindOfCall
	nested bool
	began  time.Duration

	ended    bool
	took     time.Duration
	err      *weft.Error
	strange  error // an error of another type
	reply    *Receipt
	attempts []*attempt
	runs     []run
}

// run is one time that a handler was entered.
type run struct {
	host    string
	attempt int
	at      time.Duration
}

// attempt is one time that a client sent the call, as its innermost interceptor saw it.
type attempt struct {
	began, ended time.Duration
	done         bool
	err          *weft.Error
}

func newLedger() *ledger {
	return &ledger{began: time.Now(), entries: make(map[int64]*entry)}
}

func (l *ledger) now() time.Duration { return time.Since(l.began) }

// fresh is a number for a call that is not in the plan.
func (l *ledger) fresh() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	return 1_000_000_000 + l.serial
}

// open notes that a call is made.
func (l *ledger) open(id int64, caller string, kind kindOfCall, p callPlan) *entry {
	x := &entry{id: id, caller: caller, kind: kind, plan: p, began: l.now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[id] = x
	l.order = append(l.order, x)
	return x
}

// close notes what the caller was told.
func (l *ledger) close(x *entry, reply *Receipt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.ended {
		l.faults = append(l.faults, fmt.Sprintf("call %d ended twice", x.id))
	}
	x.ended, x.took, x.reply = true, l.now()-x.began, reply
	if err == nil {
		return
	}
	x.reply = nil
	if e, ok := errors.AsType[*weft.Error](err); ok {
		x.err = e
	} else {
		x.strange = err
	}
}

// ran notes that a handler was entered.
func (l *ledger) ran(id int64, host string, attempt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.entries[id]
	if x == nil {
		l.faults = append(l.faults, fmt.Sprintf("a call with the number %d, which no caller has made, ran on %s", id, host))
		return
	}
	x.runs = append(x.runs, run{host, attempt, l.now()})
}

// begin notes an attempt.
func (l *ledger) begin(id int64) *attempt {
	a := &attempt{began: l.now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.entries[id]; x != nil {
		x.attempts = append(x.attempts, a)
	}
	return a
}

func (l *ledger) finish(a *attempt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.ended, a.done = l.now(), true
	a.err, _ = errors.AsType[*weft.Error](err)
}

// wrong notes a fault.
func (l *ledger) wrong(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

func (x *entry) String() string {
	told := "has not ended"
	switch {
	case x.ended && x.strange != nil:
		told = fmt.Sprintf("told %T %v", x.strange, x.strange)
	case x.ended && x.err != nil:
		told = "told " + x.err.Error()
	case x.ended:
		told = "told success"
	}
	ran := ""
	for _, r := range x.runs {
		ran += fmt.Sprintf(" %s@%v", r.host, r.at)
	}
	return fmt.Sprintf("%v call %d of %s, made at %v, took %v of %v (cancel %v), ran%s, %s",
		x.kind, x.id, x.caller, x.began, x.took, x.plan.Timeout, x.plan.Cancel, ran, told)
}
