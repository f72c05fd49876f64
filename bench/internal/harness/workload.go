package harness

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/bench/internal/msg"
)

// Workload is what the callers do. Its main calls are the ones whose latency
// counts; its side calls are what might disturb them, kept apart.
type Workload string

// The workloads.
const (
	Say   Workload = "say"   // every call is Hello.Say
	Slow  Workload = "slow"  // one call in a hundred is Hello.Slow, at the side
	Sleep Workload = "sleep" // every call is Hello.Sleep
	Large Workload = "large" // Hello.Say, while a side caller loops over Hello.Large
)

const slowEvery = 100 // one call in this many is slow in the workload Slow

// ParseWorkload accepts the names above.
func ParseWorkload(name string) (Workload, error) {
	switch w := Workload(name); w {
	case Say, Slow, Sleep, Large:
		return w, nil
	}
	return "", fmt.Errorf("unknown workload %q; there are %s, %s, %s, %s", name, Say, Slow, Sleep, Large)
}

// main is the method of the main calls.
func (w Workload) main() msg.Method {
	if w == Sleep {
		return msg.Sleep
	}
	return msg.Say
}

// side is the method of the side calls; without any it is the main one.
func (w Workload) side() msg.Method {
	switch w {
	case Slow:
		return msg.Slow
	case Large:
		return msg.Large
	}
	return w.main()
}

// sideEvery is n when one call in n of each caller is a side call, or 0.
func (w Workload) sideEvery() int64 {
	if w == Slow {
		return slowEvery
	}
	return 0
}

// sideCallers is how many callers make side calls only.
func (w Workload) sideCallers() int {
	if w == Large {
		return 1
	}
	return 0
}

// ideal is the rate of main calls, per second, at which only the handler's own
// time would limit the callers; 0 where the handler takes none.
func (w Workload) ideal(callers int) float64 {
	if w != Sleep {
		return 0
	}
	return float64(callers) / (float64(msg.SleepTime) / float64(time.Second))
}
