package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/internal/msg"
)

// picky has a name of its own and supports what it likes.
type picky struct {
	script
	name   string
	codecs []msg.Codec
	only   []msg.Method
}

func (p *picky) Name() string { return p.name }

func (p *picky) Supports(codec msg.Codec, method msg.Method) error {
	if !slices.Contains(p.codecs, codec) || p.only != nil && !slices.Contains(p.only, method) {
		return errors.New("not that")
	}
	return nil
}

func TestParseEntry(t *testing.T) {
	peers := Peers{&picky{name: "warp"}, &picky{name: "woof"}}
	tests := []struct {
		label string
		conns int
		want  string // of the error
	}{
		{label: "warp"},
		{label: "woof:4", conns: 4},
		{label: "woof:each", conns: PerCaller},
		{label: "woof:0", want: "number of connections"},
		{label: "woof:", want: "number of connections"},
		{label: "woof:many", want: "number of connections"},
		{label: "loom", want: `"warp" "woof"`},
		{label: "", want: "unknown peer"},
	}
	for _, test := range tests {
		e, err := peers.ParseEntry(test.label)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q: error %v, want one with %q", test.label, err, test.want)
			}
			continue
		}
		name, _, _ := strings.Cut(test.label, ":")
		if err != nil || e.Conns != test.conns || e.Peer.Name() != name || e.Label != test.label {
			t.Errorf("%q: %+v, %v", test.label, e, err)
		}
	}
}

func TestRoundsAreInterleaved(t *testing.T) {
	both := []msg.Codec{msg.Raw, msg.VT}
	plan := Plan{
		Entries: []Entry{
			{Label: "a", Peer: &picky{name: "a", codecs: both}},
			{Label: "b", Peer: &picky{name: "b", codecs: both[:1], only: []msg.Method{msg.Say}}},
		},
		Codecs: both, Callers: []int{1, 9}, Workloads: []Workload{Say, Slow}, Rounds: 2,
	}
	var got []string
	for _, r := range plan.runs() {
		got = append(got, fmt.Sprintf("%d %d %s %s %s", r.round, r.count, r.codec, r.work, r.entry.Label))
	}
	want := []string{}
	for _, round := range []string{"1", "2"} {
		for _, callers := range []string{"1", "9"} {
			for _, rest := range []string{"raw say a", "raw say b", "raw slow a", "vtproto say a", "vtproto slow a"} {
				want = append(want, round+" "+callers+" "+rest)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAPlanGoesOnAfterARunThatFailed(t *testing.T) {
	plan := Plan{
		Entries: []Entry{{Label: "a", Peer: &picky{name: "a", codecs: []msg.Codec{msg.Raw}}}},
		Codecs:  []msg.Codec{msg.Raw}, Callers: []int{1, 2}, Workloads: []Workload{Say}, Rounds: 1,
		Command: func(Mode) *exec.Cmd { return exec.Command("false") },
	}
	var records []Record
	err := plan.Run(t.Context(), func(done, of int, r Record) error {
		if done != len(records)+1 || of != 2 {
			t.Errorf("run %d of %d", done, of)
		}
		records = append(records, r)
		return nil
	})
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records {
		if r.Failures == 0 || r.Calls != 0 || r.FirstError == "" {
			t.Errorf("a child that ends at once gave %+v", r)
		}
	}
	full := errors.New("disk full")
	if err := plan.Run(t.Context(), func(int, int, Record) error { return full }); !errors.Is(err, full) {
		t.Errorf("error %v, want that of emit", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := plan.Run(ended, func(int, int, Record) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestAnEmptyPlanIsAnError(t *testing.T) {
	plan := Plan{
		Entries: []Entry{{Label: "a", Peer: &picky{name: "a"}}},
		Codecs:  []msg.Codec{msg.Raw}, Callers: []int{1}, Workloads: []Workload{Say}, Rounds: 1,
	}
	if err := plan.Run(t.Context(), nil); err == nil {
		t.Error("a plan without runs did nothing and said nothing")
	}
}
