package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/procstat"
)

// A run is disturbed when other processes, or other machines on the same host,
// took more than this share of the machine meanwhile, in percent.
const (
	disturbedByOthers = 10
	disturbedBySteal  = 5
)

// A disturbed run names at most maxOthers processes, each of which took at least
// minOther percent of the machine.
const (
	maxOthers = 4
	minOther  = 1
)

// Other is what the processes of one name took of the machine, in percent.
type Other struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu_pct"`
}

// disturb marks the run if it was disturbed, and notes by which processes. total
// is the processor time that there was.
func (r *Record) disturb(others []procstat.Process, total time.Duration) {
	r.Disturbed = r.OtherCPU > disturbedByOthers || r.Steal > disturbedBySteal
	if !r.Disturbed {
		return
	}
	for _, p := range others {
		share := tidy(100 * float64(p.CPU) / float64(total))
		if share < minOther || len(r.Others) == maxOthers {
			return // the most come first
		}
		r.Others = append(r.Others, Other{p.Name, share})
	}
}

// BySteal reports whether other machines on the host disturbed the run.
func (r Record) BySteal() bool { return r.Disturbed && r.Steal > disturbedBySteal }

// ByOthers reports whether other processes disturbed the run.
func (r Record) ByOthers() bool { return r.Disturbed && r.OtherCPU > disturbedByOthers }

// DisturbedBy is what disturbed the run; "" if nothing did.
func (r Record) DisturbedBy() string {
	if !r.Disturbed {
		return ""
	}
	var parts []string
	if r.BySteal() {
		parts = append(parts, fmt.Sprintf("other machines on the host (steal) %.1f %%", r.Steal))
	}
	if r.ByOthers() {
		parts = append(parts, fmt.Sprintf("other processes %.1f %%", r.OtherCPU))
	}
	var names []string
	for _, o := range r.Others {
		names = append(names, fmt.Sprintf("%s %.1f %%", o.Name, o.CPU))
	}
	text := strings.Join(parts, ", ")
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf("%s; load average %.1f when it began", text, r.Load1)
}
