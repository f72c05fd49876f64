package health_test

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/cluster/health"
)

// One of three servers fails, is left out, and comes back when a call to it goes
// well.
func Example() {
	panel, err := health.NewPanel(health.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := panel.Add("tcp://10.0.0.1:8972")
	panel.Add("tcp://10.0.0.2:8972")
	panel.Add("tcp://10.0.0.3:8972")

	now := time.Minute // a program takes time.Since(started)
	call := func(t *health.Tracker, r health.Result) {
		t.Begin(now)
		now += time.Millisecond
		t.End(now, time.Millisecond, r)
	}
	tick := func(random uint64) {
		for _, c := range panel.Tick(now, random) {
			fmt.Printf("%s is %v: %s\n", c.Tracker.Name(), c.To, c.Why)
		}
	}
	for range 5 {
		call(a, health.Failed)
	}
	tick(1)
	now += 6 * time.Second
	tick(2)
	call(panel.Probe(now, nil), health.OK)
	tick(3)
	// Output:
	// tcp://10.0.0.1:8972 is ejected: 5 failures in a row
	// tcp://10.0.0.1:8972 is probing: 5 failures in a row
	// tcp://10.0.0.1:8972 is healthy: a call went well again
}
