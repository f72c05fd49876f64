package route_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// sample are calls of two methods; every fourth has a user.
func sample(n int) []route.Call {
	calls := make([]route.Call, n)
	for i := range calls {
		calls[i] = route.Call{Method: "G.Say", Random: uint64(i)}
		if i%2 == 1 {
			calls[i].Method = "G.Get"
		}
		if i%4 == 3 {
			calls[i].Metadata = weft.NewMetadata("user", fmt.Sprint("user-", i), "authorization", "secret")
		}
	}
	return calls
}

func TestDryRun(t *testing.T) {
	for _, test := range []struct {
		name              string
		current, proposed string
		calls             int
		want              string
	}{
		{"the same", explained, explained, 100, "nothing changes\n0 of 100 calls would go elsewhere\n" +
			`note: route "staff": none of 3 instances has group=none: 100 % of its calls fail` + "\n" +
			`note: route "late" never gets a call: route "canary" takes them all` + "\n"},
		{"a split", `{}`, `{"routes":[{"name":"canary","when":{"methods":"Say"},"to":[
			{"percent":80,"match":{"version":"1.*"}},{"percent":20,"match":{"version":"2.*"}}]}]}`, 100, `
instance a1: 33.3 % -> 36.7 % of the calls
instance a2: 33.3 % -> 36.7 % of the calls
instance b1: 33.3 % -> 26.7 % of the calls
50 of 100 calls would go elsewhere
50 like G.Say {}
  before: 100 % to all (3 instances)
  after:  80 % to canary: version=1.* (2 instances), 20 % to canary: version=2.* (1 instance)
`},
		{"out of service, without a sample", `{}`, `{"instances":[{"match":{"id":"a*"},"weight":10},{"match":{"id":["a1","x"]},"state":"off"}]}`, 0, `
instance a1: on -> off, weight 100 -> 10
instance a2: weight 100 -> 10
`},
		{"weights", `{}`, `{"instances":[{"match":{"id":"a1"},"weight":200},{"match":{"id":"b1"},"weight":0}]}`, 4, `
instance a1: weight 100 -> 200, 33.3 % -> 66.7 % of the calls
instance b1: weight 100 -> 0, 33.3 % -> 0.0 % of the calls
0 of 4 calls would go elsewhere
`},
		{"methods", `{"methods":{"Say":{"timeout":"1s"},"Get":{"rate":5},"*":{"attempts":2}}}`, `{"methods":{"Say":{"timeout":"2s"},"New":{"rate":1}}}`, 0, `
method *: 2 attempts -> as configured
method Get: 2 attempts, 5 calls/s -> as configured
method New: 2 attempts -> 1 calls/s
method Say: timeout 1s, 2 attempts -> timeout 2s
`},
		{"calls that fail, by a user", `{"routes":[{"name":"r","when":{"metadata":[{"key":"user","in":"*"}]},"to":[{"match":{"zone":"eu-1"}}]}]}`,
			`{"routes":[{"name":"r","when":{"metadata":[{"key":"user","in":"*"}]},"to":[{"match":{"zone":"us"}}],"else":"fail"}]}`, 8, `
instance a1: 37.5 % -> 25.0 % of the calls
instance b1: 37.5 % -> 25.0 % of the calls
2 of 8 calls would go elsewhere
2 like G.Get {user="user-3" authorization="(hidden)"}
  before: 100 % to r: zone=eu-1 (2 instances)
  after:  100 % fail by route "r"
note: route "r": none of 3 instances has zone=us: 100 % of its calls fail
`},
		{"both sides the same", `{}`, `{"routes":[{"name":"r","to":[{"percent":50.5,"match":{"id":"a1"}},{"percent":0.25,"match":{"id":"b1"}},{"percent":49.25,"match":{"zone":"eu-1","version":"1.*"}}]}]}`, 1, `
instance a1: 33.3 % -> 99.8 % of the calls
instance a2: 33.3 % -> 0.0 % of the calls
instance b1: 33.3 % -> 0.2 % of the calls
1 of 1 calls would go elsewhere
1 like G.Say {}
  before: 100 % to all (3 instances)
  after:  99.75 % to r: id=a1 (1 instance), 0.25 % to r: id=b1 (1 instance)
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := route.DryRun(parse(t, test.current), parse(t, test.proposed), fleet(), sample(test.calls))
			if got := report.String(); got != strings.TrimPrefix(test.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
			if want := test.name != "the same"; report.Changed() != want {
				t.Errorf("Changed = %v", report.Changed())
			}
		})
	}
}

// TestDryRunIsTrue: the shares that a dry run names are those that calls have.
func TestDryRunIsTrue(t *testing.T) {
	rules := parse(t, `{"routes":[{"name":"s","by":"user","to":[{"percent":70,"match":{"version":"1.*"}},{"percent":30,"match":{"version":"2.*"}}]}]}`)
	calls := sample(20_000)
	report := route.DryRun(nil, rules, fleet(), calls)
	p := rules.Plan(fleet())
	load := make(map[string]float64)
	for _, c := range calls {
		index := p.Subsets[p.Route(c).Subset].Index
		for _, i := range index {
			load[fleet()[i].ID] += 100 / float64(len(index)) / float64(len(calls))
		}
	}
	if len(report.Instances) == 0 {
		t.Fatal("nothing changes")
	}
	for _, c := range report.Instances {
		if math.Abs(c.ShareAfter-load[c.ID]) > 1.5 {
			t.Errorf("%s gets %.1f %%, said was %.1f %%", c.ID, load[c.ID], c.ShareAfter)
		}
	}
}
