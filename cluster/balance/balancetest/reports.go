package balancetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftrpc/weft/instance"
)

// reports watches the share of a server that reports ten times the load of the other
// while its reports grow old.
func (s *suite) reports() error {
	set := Nodes(2)
	report := func(busy int) {
		set[0].Load, set[1].Load = &instance.Load{InFlight: busy}, &instance.Load{InFlight: 4}
	}
	report(40)
	p, calls := s.build(set), NewCalls(15)
	share := func() float64 {
		before := calls.count
		counts := make([]int, len(set))
		for range 2000 {
			c := calls.Next()
			i := p.Pick(c)
			calls.serve(set[i].Stats, c.Now)
			counts[i]++
		}
		return float64(counts[0]) / float64(calls.count-before)
	}
	if got := share(); got > 1.0/3 {
		return fmt.Errorf("of two servers, the one that reports ten times the load got %.3f of the calls, want a third at most", got)
	}
	calls.now += 2 * time.Minute
	p = s.build(slices.Clone(set)) // building anew does not renew a report
	if got := share(); got < 0.4 || got > 0.6 {
		return fmt.Errorf("two minutes after its report, a server got %.3f of the calls, want about half: reports have to age", got)
	}
	report(50)
	p = s.build(set)
	if got := share(); got > 1.0/3 {
		return fmt.Errorf("after a new report of ten times the load of the other, a server got %.3f of the calls, want a third at most", got)
	}
	return nil
}
