package throttle_test

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/throttle"
)

// A client whose calls are all refused sends hardly any.
func Example() {
	var t throttle.Throttle
	sent := 0
	for i := range 1000 {
		now := time.Duration(i) * time.Millisecond
		random := uint64(i) * 0x9e3779b97f4a7c15
		ok, counted := t.Allow(now, weft.PriorityDefault, random)
		if ok {
			sent++
			t.Refused(now, weft.PriorityDefault, counted) // as the server does
		}
	}
	fmt.Println(sent < 200, t.Throttled() > 800)
	// Output: true true
}
