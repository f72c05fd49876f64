package runner

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

// patient is far more than a child takes to start; soon is less than one that
// never answers takes.
const (
	patient = 30 * time.Second
	soon    = 200 * time.Millisecond
)

func TestABadProgramGivesAClearError(t *testing.T) {
	tests := []struct {
		habit string
		kind  string // the event that is waited for
		limit time.Duration
		want  string
	}{
		{"silent", contract.Ready, soon, `did not send the event "ready" within 200ms`},
		{"dying", contract.Ready, patient, `ended without the event "ready" (exit status 3)`},
		{"garbage", contract.Ready, patient, `it printed "Listening on port 1 ...", which is no event`},
		{"failing", contract.Ready, patient, "no such codec"},
		{"early", contract.Ready, patient, `sent the event "warm", want "ready"`},
		{"homeless", contract.Ready, patient, "without an address"},
		{"endless", contract.Ready, patient, "token too long"},
		{"empty", contract.Result, patient, "a result without figures"},
		{"miscounting", contract.Result, patient, "calls is 7, main.count 1"},
		{"contradicting", contract.Result, patient, "the histogram has 2 values, count says 1"},
		{"tardy", contract.Result, patient, "late is 2 of 1 calls"},
		{"timeless", contract.Result, patient, "seconds is 0"},
	}
	for _, test := range tests {
		t.Run(test.habit, func(t *testing.T) {
			c, err := start(t.Context(), "warp serve", program(t, asBad, test.habit), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			c.patience = soon
			defer c.stop()
			_, err = c.expect(test.kind, test.limit)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "warp serve") {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestStopEndsEveryProgram(t *testing.T) {
	for _, habit := range []string{"stubborn", "parental", "talkative"} {
		t.Run(habit, func(t *testing.T) {
			c, err := start(t.Context(), "warp serve", program(t, asBad, habit), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.expect(contract.Ready, patient); err != nil {
				t.Error(err)
			}
			c.patience = soon
			begin := time.Now()
			c.stop()
			if took := time.Since(begin); took > patient {
				t.Errorf("took %v", took)
			}
			// What the program started is gone, or on its way.
			for deadline := time.Now().Add(patient); syscall.Kill(-c.cmd.Process.Pid, 0) == nil; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("a process of its group is still there")
				}
			}
		})
	}
}

func TestAnInterruptedPlanEndsItsChildrenAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := start(ctx, "warp serve", program(t, asBad, "stubborn"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if _, err := c.expect(contract.Ready, patient); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c.expect(contract.Usage, patient); err == nil || !strings.Contains(err.Error(), "ended without") && !strings.Contains(err.Error(), "read its output") {
		t.Errorf("error %v, want one that says it ended", err)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	if _, err := start(t.Context(), "warp serve", []string{"/no/such/program"}, io.Discard); err == nil || !strings.Contains(err.Error(), "start warp serve") {
		t.Errorf("error %v", err)
	}
}
