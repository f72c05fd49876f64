package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/internal/procstat"
)

// TestDisturbedBy: a marked run says what disturbed it, as far as that is known.
func TestDisturbedBy(t *testing.T) {
	compile, small := procstat.Process{Name: "compile", CPU: 40 * time.Millisecond}, procstat.Process{Name: "sshd", CPU: time.Millisecond / 2}
	tests := []struct {
		name         string
		steal, other float64
		processes    []procstat.Process
		want         string
	}{
		{"quiet", 1, 2, []procstat.Process{compile}, ""},
		{"steal", 12.34, 0, nil, "other machines on the host (steal) 12.3 %; load average 1.5 when it began"},
		{"processes", 0, 41, []procstat.Process{compile, small}, "other processes 41.0 % (compile 40.0 %); load average 1.5 when it began"},
		{"processes that ended", 0, 41, nil, "other processes 41.0 %; load average 1.5 when it began"},
		{"both", 6, 41, []procstat.Process{compile}, "other machines on the host (steal) 6.0 %, other processes 41.0 % (compile 40.0 %); load average 1.5 when it began"},
	}
	for _, tt := range tests {
		r := Record{Steal: tt.steal, OtherCPU: tt.other, Load1: 1.5}
		r.disturb(tt.processes, 100*time.Millisecond)
		if got := r.DisturbedBy(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	var r Record
	r.Steal = 50
	r.disturb([]procstat.Process{compile, compile, compile, compile, compile}, 100*time.Millisecond)
	if n := strings.Count(r.DisturbedBy(), "compile"); n != maxOthers {
		t.Errorf("%d processes are named, want %d", n, maxOthers)
	}
}
