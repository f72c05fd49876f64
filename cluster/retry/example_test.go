package retry_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/retry"
)

// A call that fails on its way, as one that may and as one that must not be made
// twice.
func Example() {
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := &retry.Policy{Backoff: time.Millisecond}
	started := time.Now()

	for _, idempotent := range []bool{true, false} {
		budget.Deposit(time.Since(started))
		attempt := retry.Attempt{Number: 1, Idempotent: idempotent, Left: time.Second}
		for {
			attempt.Err = &weft.Error{Code: weft.Unavailable, Outcome: weft.OutcomeUnknown} // the connection was lost
			attempt.Random = rand.Uint64()
			d := policy.Decide(attempt)
			fmt.Println(attempt.Number, d.Why)
			if !d.Again || d.Paid && !budget.Withdraw(time.Since(started)) {
				break
			}
			time.Sleep(d.After)
			attempt.Number++
			attempt.Resent = attempt.Resent || d.Free
		}
	}
	// Output:
	// 1 the connection was lost: once at once elsewhere
	// 2 no answer: again by policy, the method being idempotent
	// 3 no answer: again by policy, the method being idempotent
	// 4 the policy allows no more attempts
	// 1 the handler may have run, and the method is not idempotent
}
