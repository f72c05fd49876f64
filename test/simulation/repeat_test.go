package simulation

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// TestRepeat runs some seeds twice. Their plans are the same, to the last call; that the runs are the same
// is not promised, so how much of them is the same is only printed.
func TestRepeat(t *testing.T) {
	const seeds = min(40, normalSeeds/10) // fewer with the race detector
	same, calls, sameFate, sameTime := 0, 0, 0, 0
	for seed := uint64(1); seed <= seeds; seed++ {
		if first, second := newPlan(seed), newPlan(seed); fmt.Sprintf("%+v", first) != fmt.Sprintf("%+v", second) {
			t.Fatalf("seed %d has two plans", seed)
		}
		one, two := ledgerOf(t, seed), ledgerOf(t, seed)
		identical := len(one.entries) == len(two.entries)
		for id, x := range one.entries {
			y := two.entries[id]
			if y == nil || x.nested {
				continue
			}
			calls++
			if x.fate() == y.fate() {
				sameFate++
			} else {
				identical = false
			}
			if x.began == y.began && x.took == y.took {
				sameTime++
			} else {
				identical = false
			}
		}
		if identical {
			same++
		}
	}
	t.Logf("figure: of %d seeds %d had the same runs to the nanosecond; of %d calls %.1f %% had the same fate, %.1f %% the same times",
		seeds, same, calls, percent(sameFate, calls), percent(sameTime, calls))
}

// TestHedges: some seeds hedge calls. Without that nothing of what a plan does would be known of calls with two attempts at once.
func TestHedges(t *testing.T) {
	const most = 100 // seeds
	hedges, hedged := 0, 0
	for seed := uint64(1); seed <= most; seed++ {
		if !slices.ContainsFunc(newPlan(seed).Clients, func(c clientPlan) bool { return c.Recorded && c.hedges() }) {
			continue
		}
		before := hedges
		for _, x := range ledgerOf(t, seed).order {
			for i := 1; i < len(x.attempts); i++ {
				if x.hedge(i) {
					hedges++
				}
			}
		}
		if hedges > before {
			hedged++
		}
	}
	t.Logf("figure: %d hedges in %d of %d seeds", hedges, hedged, most)
	if hedged < 3 {
		t.Errorf("%d of %d seeds have hedged a call", hedged, most)
	}
}

// TestOvertakes: in some seeds bytes on newer connections overtake those on older ones.
func TestOvertakes(t *testing.T) {
	const most = 100 // seeds
	segments, overtaking := 0, 0
	for seed := uint64(1); seed <= most; seed++ {
		if !slices.ContainsFunc(newPlan(seed).Faults, func(f fault) bool { return f.Kind == overtake }) {
			continue
		}
		w := worldOf(t, seed)
		if n := w.net.overtaken(); n > 0 {
			segments += n
			overtaking++
		}
	}
	t.Logf("figure: newer connections have overtaken %d segments, in %d of %d seeds", segments, overtaking, most)
	if overtaking < 10 {
		t.Errorf("in %d of %d seeds bytes of a connection have overtaken those of an older one, want 10 or more", overtaking, most)
	}
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(all) }

// fate is what became of a call.
func (x *entry) fate() string {
	text := fmt.Sprint(len(x.runs))
	if x.err != nil {
		text += fmt.Sprint(x.err.Code, x.err.Outcome)
	}
	return text
}

func ledgerOf(t *testing.T, seed uint64) *ledger { return worldOf(t, seed).ledger }

// worldOf runs a seed, and returns what it leaves.
func worldOf(t *testing.T, seed uint64) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, newPlan(seed), nil)
		w.run()
	})
	return w
}
