package simulation

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/weftrpc/weft/internal/leak"
)

var (
	oneSeed   = flag.Uint64("seed", 0, "run this seed alone")
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Uint64("seeds", normalSeeds, "how many seeds are run")
	again     = flag.Int("again", 1, "how often each seed is run")
)

func TestMain(m *testing.M) {
	flag.Parse()
	leak.Main(m)
}

// TestSeeds runs seeds, and prints those that fail with the command that runs them again.
func TestSeeds(t *testing.T) {
	from, n := *firstSeed, *seeds
	if *oneSeed != 0 {
		from, n = *oneSeed, 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			for range *again {
				if wrong := play(t, seed, nil); len(wrong) > 0 {
					report(t, seed, wrong)
					return
				}
			}
		})
	}
}

// play runs a seed in a bubble. A seed that hangs, or leaves a goroutine behind, makes the bubble panic and the
// program end: the seed is printed before that.
func play(t *testing.T, seed uint64, m mutation) (wrong []string) {
	simulated, ended := false, false
	announce := func(quiet *bool) {
		if !*quiet {
			fmt.Fprintf(os.Stderr, "seed %d hung, left goroutines or panicked; run it again: %s\n", seed, command(seed))
		}
	}
	defer announce(&ended)
	synctest.Test(t, func(t *testing.T) {
		defer announce(&simulated)
		wrong = simulate(t, newPlan(seed), m)
		simulated = true
	})
	ended = true
	return wrong
}

func command(seed uint64) string {
	return fmt.Sprintf("cd test/simulation && go test -run 'TestSeeds$' -seed=%d -again=20", seed)
}

func report(t *testing.T, seed uint64, wrong []string) {
	t.Logf("%v", newPlan(seed))
	for i, text := range wrong {
		if i == 10 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(text)
	}
	t.Errorf("run it again: %s", command(seed))
}
