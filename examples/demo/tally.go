package main

import (
	"slices"
	"time"
)

// tally counts the calls of a phase. A call counts in the phase in which it ends.
type tally struct {
	began  time.Time
	lasted time.Duration
	calls  map[string]int // by method
	errors map[string]int // by method
	slow   map[string]int // that took longer than tooLong, by method
	told   map[outcome]int
	shares map[string]int // answers, by server
	took   []time.Duration
	first  map[string]error // of each method
}

func newTally() *tally {
	return &tally{
		began: time.Now(), calls: make(map[string]int), errors: make(map[string]int), slow: make(map[string]int), told: make(map[outcome]int),
		shares: make(map[string]int), first: make(map[string]error),
	}
}

// tooLong is from when on a call counts as slow.
const tooLong = 100 * time.Millisecond

// add counts a call; took is 0 for a call that is not timed.
func (t *tally) add(method, server string, took time.Duration, err error) {
	t.calls[method]++
	if took > 0 {
		t.took = append(t.took, took)
	}
	if took > tooLong {
		t.slow[method]++
	}
	if err == nil {
		t.shares[server]++
		return
	}
	t.errors[method]++
	t.told[outcomeOf(err)]++
	if t.first[method] == nil {
		t.first[method] = err
	}
}

// all is the number of calls, failed that of those that failed.
func (t *tally) all() int    { return t.calls["Ledger.Read"] + t.calls["Ledger.Book"] }
func (t *tally) failed() int { return t.errors["Ledger.Read"] + t.errors["Ledger.Book"] }

// rate is the number of calls a second.
func (t *tally) rate() float64 { return float64(t.all()) / t.lasted.Seconds() }

// share is which part of the answers came from a server.
func (t *tally) share(server string) float64 {
	answers := 0
	for _, n := range t.shares {
		answers += n
	}
	return float64(t.shares[server]) / float64(max(answers, 1))
}

// slowShare is which part of the calls of a method were slow.
func (t *tally) slowShare(method string) float64 {
	return float64(t.slow[method]) / float64(max(t.calls[method], 1))
}

// quantile is the time within which a part of the calls ended.
func (t *tally) quantile(part float64) time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	slices.Sort(t.took)
	return t.took[int(part*float64(len(t.took)-1))]
}
