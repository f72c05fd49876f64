package breaker_test

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/cluster/breaker"
)

// A method that fails is left alone, until a single call shows that it is well.
func Example() {
	settings, err := breaker.NewSettings(breaker.Config{Consecutive: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := settings.New(0)

	now := time.Duration(0) // a program takes time.Since(started)
	call := func(result breaker.Result) {
		sent := b.Allow(now)
		if sent {
			b.Done(now+time.Millisecond, time.Millisecond, result)
		}
		now += 2 * time.Second
		fmt.Println(sent, b.State(now))
	}
	for range 5 {
		call(breaker.Failed)
	}
	for range 2 {
		call(breaker.OK)
	}
	// Output:
	// true closed
	// true closed
	// true open
	// false open
	// false half-open
	// true closed
	// true closed
}
