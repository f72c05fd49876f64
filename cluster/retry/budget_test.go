package retry_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/retry"
)

func newBudget(t testing.TB, cfg retry.BudgetConfig) *retry.Budget {
	t.Helper()
	b, err := retry.NewBudget(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// withdrawals is how many retries a budget pays for at once.
func withdrawals(b *retry.Budget, now time.Duration) int {
	n := 0
	for b.Withdraw(now) {
		n++
	}
	return n
}

func TestBudget(t *testing.T) {
	const noFloor = 0.001 // but one retry at the very first
	for _, test := range []struct {
		name        string
		cfg         retry.BudgetConfig
		calls       int
		over        time.Duration // which the calls are spread
		wait        time.Duration // after them
		least, most int           // retries that are then allowed at once
	}{
		{"nothing but the floor", retry.BudgetConfig{}, 0, 0, 0, 3, 3},
		{"the floor does not add up", retry.BudgetConfig{}, 0, 0, time.Hour, 3, 3},
		{"a tenth of the calls", retry.BudgetConfig{}, 1000, 0, 0, 103, 103},
		{"another ratio", retry.BudgetConfig{Ratio: 0.5, Floor: 1}, 1000, 0, 0, 501, 501},
		{"savings fade", retry.BudgetConfig{Floor: noFloor}, 1000, 0, 10 * time.Second, 36, 39},
		{"and are gone", retry.BudgetConfig{Floor: noFloor}, 1000, 0, 2 * time.Minute, 1, 1},
		{"a steady client has what one TTL adds", retry.BudgetConfig{Floor: noFloor}, 100000, 100 * time.Second, 0, 960, 1010},
		{"whatever the TTL", retry.BudgetConfig{Floor: noFloor, TTL: time.Second}, 100000, 100 * time.Second, 0, 90, 103},
		{"a floor of its own", retry.BudgetConfig{Floor: 50}, 0, 0, 0, 50, 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBudget(t, test.cfg)
			for i := range test.calls {
				b.Deposit(test.over * time.Duration(i) / time.Duration(test.calls))
			}
			now := test.over + test.wait
			saved := b.Balance(now)
			got := withdrawals(b, now)
			if got < test.least || got > test.most {
				t.Errorf("%d retries allowed, want %d to %d", got, test.least, test.most)
			}
			if int(saved) > got {
				t.Errorf("the balance was %v and %d were allowed", saved, got)
			}
		})
	}
}

func TestBudgetFloor(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{})
	n := 0
	for now := time.Duration(0); now < 10*time.Second; now += ms {
		if b.Withdraw(now) {
			n++
		}
	}
	if n < 29 || n > 33 {
		t.Errorf("%d retries in ten seconds without calls, want about 30", n)
	}
}

func TestBudgetSavingsAreBounded(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{Ratio: 1})
	for range 5_000_000 {
		b.Deposit(0)
	}
	if saved := b.Balance(0); saved < 4e6 || saved > math.MaxUint32/1000.0 {
		t.Errorf("%v saved, want the 4.29 million that fit", saved)
	}
}

// TestBudgetAmplification plays random schedules and holds every stretch of each,
// from any moment to any later one, to what the documentation says: retries are at
// most ratio*calls + floor*(t+1), and what was saved before.
func TestBudgetAmplification(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			cfg := retry.BudgetConfig{
				Ratio: 0.001 + 0.999*r.Float64(),
				Floor: math.Pow(10, 4*r.Float64()-2),
				TTL:   100*ms + time.Duration(r.Int64N(int64(20*time.Second))),
			}
			b := newBudget(t, cfg)
			type moment struct {
				at             time.Duration
				calls, retries float64
				saved          float64
			}
			marks := []moment{{}}
			now, calls, retries := time.Duration(0), 0.0, 0.0
			for range 200 {
				now += time.Duration(math.Pow(10, 10*r.Float64())) // up to ten seconds
				for range r.IntN(50) {
					b.Deposit(now)
					calls++
				}
				for range r.IntN(50) {
					if b.Withdraw(now) {
						retries++
					}
				}
				for _, m := range marks {
					most := m.saved + cfg.Ratio*(calls-m.calls) + cfg.Floor*((now-m.at).Seconds()+1)
					if cfg.Floor < 1 {
						most++
					}
					if retries-m.retries > most+1e-6 {
						t.Fatalf("%v retries from %v to %v, want at most %v", retries-m.retries, m.at, now, most)
					}
				}
				marks = append(marks, moment{now, calls, retries, b.Balance(now)})
			}
		})
	}
}

// TestBudgetConcurrently holds the bound while many goroutines use a budget, with
// clocks that are not quite equal. Every call fails and wants two retries.
func TestBudgetConcurrently(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{})
	const goroutines, calls = 8, 20000
	var retries atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { // ends with its calls
			for i := range calls {
				now := time.Duration(i)*ms/10 + time.Duration(g)*time.Microsecond
				b.Deposit(now)
				for range 2 {
					if b.Withdraw(now) {
						retries.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	most := int64(goroutines*calls/10 + 3*(calls/10000+1))
	if n := retries.Load(); n > most || n < most/2 {
		t.Errorf("%d retries for %d calls that all failed, want at most %d", n, goroutines*calls, most)
	}
}

func TestBudgetConfig(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  retry.BudgetConfig
		ok   bool
	}{
		{"defaults", retry.BudgetConfig{}, true},
		{"its own", retry.BudgetConfig{Ratio: 1, Floor: 0.001, TTL: 100 * ms}, true},
		{"negative ratio", retry.BudgetConfig{Ratio: -0.1}, false},
		{"a ratio above one", retry.BudgetConfig{Ratio: 10}, false},
		{"no ratio", retry.BudgetConfig{Ratio: math.NaN()}, false},
		{"negative floor", retry.BudgetConfig{Floor: -1}, false},
		{"an infinite floor", retry.BudgetConfig{Floor: math.Inf(1)}, false},
		{"negative TTL", retry.BudgetConfig{TTL: -time.Second}, false},
		{"a TTL too short", retry.BudgetConfig{TTL: ms}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := retry.NewBudget(test.cfg)
			if (err == nil) != test.ok || (b != nil) != test.ok || err != nil && weft.CodeOf(err) != weft.InvalidArgument {
				t.Errorf("budget %v, error %v, want an error: %v", b, err, !test.ok)
			}
		})
	}
}

func TestBudgetAllocatesNothing(t *testing.T) {
	b := newBudget(t, retry.BudgetConfig{})
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += ms
		b.Deposit(now)
		b.Withdraw(now)
		b.Balance(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDeposit(b *testing.B) {
	budget := newBudget(b, retry.BudgetConfig{})
	b.ReportAllocs()
	for now := time.Duration(0); b.Loop(); now += time.Microsecond {
		budget.Deposit(now)
	}
}

func BenchmarkDepositParallel(b *testing.B) {
	budget := newBudget(b, retry.BudgetConfig{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for now := time.Duration(0); pb.Next(); now += time.Microsecond {
			budget.Deposit(now)
		}
	})
}

// BenchmarkWithdraw is mostly of an empty budget, as in an outage.
func BenchmarkWithdraw(b *testing.B) {
	budget := newBudget(b, retry.BudgetConfig{})
	b.ReportAllocs()
	for now := time.Duration(0); b.Loop(); now += time.Microsecond {
		budget.Withdraw(now)
	}
}
