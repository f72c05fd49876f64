package retry

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// The defaults of a Budget.
const (
	DefaultRatio = 0.1
	DefaultFloor = 3.0
	DefaultTTL   = 10 * time.Second
)

const (
	// whole is a retry in the unit of the savings, thousandths.
	whole = 1000
	// finest is the smallest ratio and floor: one of these thousandths.
	finest = 1.0 / whole
	// shortest is the smallest TTL: with it the ticks still tell a month apart.
	shortest = 100 * time.Millisecond
)

// BudgetConfig configures a Budget. A zero field means its default.
type BudgetConfig struct {
	// Ratio is what each call adds to the savings, in retries, rounded down to
	// thousandths. 0: 0.1; otherwise 0.001 to 1.
	Ratio float64

	// Floor is how many retries a second are allowed whatever was saved, so that a
	// client with few calls has some too. 0: 3; otherwise 0.001 to a million.
	Floor float64

	// TTL is how long savings last: after this time 37 % are left. So what a steady
	// client saves is what its calls add in one TTL. 0: 10 s; otherwise at least 100 ms.
	TTL time.Duration
}

// Budget bounds how many retries, and hedges, a client makes altogether. Calls make
// deposits, retries are withdrawals, and savings fade, so that a good hour does not
// pay for a storm in the minute after. The idea is that of the retry budgets of
// Twitter's Finagle (twitter.github.io/finagle/guide/Clients.html).
//
// Of any number of calls made in t seconds, in any order, from any number of
// goroutines, at most Ratio*calls + Floor*(t+1) retries are allowed; one more if
// Floor is below 1.
//
// All methods may be called at the same time; none takes a lock or allocates.
// now is the time since any fixed moment; one that goes back counts as one that
// stands still.
type Budget struct {
	deposit uint64        // of a call, in thousandths
	shift   uint8         // a tick is 1<<shift nanoseconds
	fade    float64       // per tick
	pause   time.Duration // between two retries of the floor
	ahead   time.Duration // how far the floor can be drawn on in advance

	// savings holds the tick they were last counted at, and the amount in thousandths.
	savings atomic.Uint64
	// floor is when the floor will have made up for what was drawn from it, as in the
	// generic cell rate algorithm (ITU-T I.371).
	floor atomic.Int64
}

// NewBudget returns a budget with no savings.
func NewBudget(cfg BudgetConfig) (*Budget, error) {
	for _, f := range []struct {
		name   string
		value  *float64
		normal float64
		most   float64
	}{
		{"Ratio", &cfg.Ratio, DefaultRatio, 1},
		{"Floor", &cfg.Floor, DefaultFloor, 1e6},
	} {
		if *f.value == 0 {
			*f.value = f.normal
		}
		if !(*f.value >= finest && *f.value <= f.most) {
			return nil, weft.Errorf(weft.InvalidArgument, "retry: BudgetConfig.%s is %v, want %v to %v, or 0 for %v",
				f.name, *f.value, finest, f.most, f.normal)
		}
	}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.TTL < shortest {
		return nil, weft.Errorf(weft.InvalidArgument, "retry: BudgetConfig.TTL is %v, want %v or more, or 0 for %v",
			cfg.TTL, shortest, DefaultTTL)
	}
	shift := bits.Len64(uint64(cfg.TTL)) - 7 // 64 to 127 ticks a TTL
	pause := time.Duration(math.Ceil(float64(time.Second) / cfg.Floor))
	return &Budget{
		deposit: uint64(cfg.Ratio*whole + 1e-9),
		shift:   uint8(shift),
		fade:    float64(uint64(1)<<shift) / float64(cfg.TTL),
		pause:   pause,
		ahead:   time.Duration(max(cfg.Floor-1, 0) * float64(pause)),
	}, nil
}

// Deposit counts a call. Call it once for each call, not for its retries.
func (b *Budget) Deposit(now time.Duration) {
	for {
		old := b.savings.Load()
		w := b.at(old, now)
		w += min(b.deposit, math.MaxUint32-amount(w))
		if b.savings.CompareAndSwap(old, w) {
			return
		}
	}
}

// Withdraw pays for one retry or hedge. If it returns false, do not make it.
func (b *Budget) Withdraw(now time.Duration) bool {
	if b.withdrawFloor(now) {
		return true
	}
	for {
		old := b.savings.Load()
		w := b.at(old, now)
		if amount(w) < whole {
			return false
		}
		if b.savings.CompareAndSwap(old, w-whole) {
			return true
		}
	}
}

// Balance is how many retries are saved, without the floor.
func (b *Budget) Balance(now time.Duration) float64 {
	return float64(amount(b.at(b.savings.Load(), now))) / whole
}

// withdrawFloor comes before the savings: what is not drawn from the floor is
// lost, and savings last a while.
func (b *Budget) withdrawFloor(now time.Duration) bool {
	for {
		old := b.floor.Load()
		drawn := max(time.Duration(old), now)
		if drawn-now > b.ahead {
			return false
		}
		if b.floor.CompareAndSwap(old, int64(drawn+b.pause)) {
			return true
		}
	}
}

// at is what a savings word has faded to. The exponential function is needed once
// a tick; in between, a word stays as it is.
func (b *Budget) at(word uint64, now time.Duration) uint64 {
	tick := uint32(now >> b.shift)
	passed := int32(tick - uint32(word>>32))
	if passed <= 0 {
		return word
	}
	left := float64(amount(word)) * math.Exp(-float64(passed)*b.fade)
	return uint64(tick)<<32 | uint64(left)
}

func amount(word uint64) uint64 { return word & math.MaxUint32 }
