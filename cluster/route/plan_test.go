package route_test

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

func TestInstanceRules(t *testing.T) {
	for _, test := range []struct {
		name     string
		instance weft.Instance
		rules    string
		weight   int
		state    weft.State
		why      string
	}{
		{"as registered", weft.Instance{Weight: 7}, `{"match":{"id":"y"},"weight":1}`, 7, weft.On, ""},
		{"no weight registered", weft.Instance{}, `{"match":{"id":"y"},"weight":1}`, weft.DefaultWeight, weft.On, ""},
		{"registered as a last resort", weft.Instance{Weight: -1}, `{"match":{"id":"y"},"weight":1}`, 0, weft.On, ""},
		{"weight", weft.Instance{Weight: 7}, `{"name":"slow","match":{"id":"x"},"weight":3}`, 3, weft.On, `weight 3 by rule "slow"`},
		{"weight 0", weft.Instance{Weight: 7}, `{"match":{"id":"x"},"weight":0}`, 0, weft.On, `weight 0 by rule "instances[0]"`},
		{"off", weft.Instance{}, `{"match":{"id":"x"},"state":"off"}`, 100, weft.Off, `off by rule "instances[0]"`},
		{"both from one", weft.Instance{}, `{"match":{"id":"x"},"state":"draining","weight":2}`, 2, weft.Draining, `weight 2 by rule "instances[0]", draining by rule "instances[0]"`},
		{"one each", weft.Instance{}, `{"match":{"id":"x"},"weight":2},{"match":{"id":"*"},"weight":5,"state":"off"}`, 2, weft.Off, `weight 2 by rule "instances[0]", off by rule "instances[1]"`},
		{"the first counts", weft.Instance{}, `{"match":{"id":"x"},"state":"on"},{"match":{"id":"*"},"state":"off"}`, 100, weft.On, `on by rule "instances[0]"`},
		{"on again", weft.Instance{State: weft.Off}, `{"match":{"id":"x"},"state":"on"}`, 100, weft.On, `on by rule "instances[0]"`},
		{"not on while it drains", weft.Instance{State: weft.Draining}, `{"match":{"id":"x"},"state":"on"}`, 100, weft.Draining, "draining by itself"},
		{"off while it drains", weft.Instance{State: weft.Draining}, `{"match":{"id":"x"},"state":"off"}`, 100, weft.Off, `off by rule "instances[0]"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.instance.ID = "x"
			p := parse(t, `{"instances":[`+test.rules+`]}`).Plan([]weft.Instance{test.instance})
			got := p.Instances[0]
			if got.Weight != test.weight || got.State != test.state || !strings.HasPrefix(got.Why, test.why) || (got.Why == "") != (test.why == "") {
				t.Errorf("got %+v, want weight %d, %v, because %q", got, test.weight, test.state, test.why)
			}
			if off := len(p.Subsets[0].Index) == 0; off != (test.state == weft.Off) {
				t.Errorf("subset 0 has %v", p.Subsets[0].Index)
			}
		})
	}
}

// TestFallback: what becomes of a call whose side has no instance.
func TestFallback(t *testing.T) {
	const canary = `"routes":[{"name":"c","to":[{"percent":100,"match":{"version":"2.*"}},{"percent":0,"match":{"version":"1.*"}}]`
	old := fleet()[:2]
	for _, test := range []struct {
		name      string
		rules     string
		instances []weft.Instance
		want      string
		then      string
	}{
		{"its side", `{` + canary + `}]}`, fleet(), "[2]", "[0 1 2]"},
		{"the other side", `{` + canary + `}]}`, old, "[0 1]", "none"},
		{"the other side before other versions", `{` + canary + `}]}`, append(fleet()[:1], weft.Instance{ID: "x", Version: "3"}), "[0]", "[0 1]"},
		{"any", `{` + canary + `}]}`, []weft.Instance{{ID: "x", Version: "3"}}, "[0]", "none"},
		{"its side is off", `{"instances":[{"match":{"id":"b1"},"state":"off"}],` + canary + `}]}`, fleet(), "[0 1]", "none"},
		{"its side drains", `{"instances":[{"match":{"id":"b1"},"state":"draining"}],` + canary + `}]}`, fleet(), "[0 1 2]", "none"},
		{"all drain", `{"instances":[{"match":{"id":"*"},"state":"draining"}],` + canary + `}]}`, fleet(), "[2]", "[0 1 2]"},
		{"fail: its side", `{` + canary + `,"else":"fail"}]}`, fleet(), "[2]", "none"},
		{"fail", `{` + canary + `,"else":"fail"}]}`, old, "none", "none"},
		{"fail: its side drains", `{"instances":[{"match":{"id":"b1"},"state":"draining"}],` + canary + `,"else":"fail"}]}`, fleet(), "[2]", "none"},
		{"no instance at all", `{` + canary + `,"else":"fail"}]}`, nil, "[]", "none"},
		{"all off", `{"instances":[{"match":{"id":"*"},"state":"off"}],` + canary + `,"else":"fail"}]}`, fleet(), "[]", "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, test.rules).Plan(test.instances)
			got := p.Route(route.Call{})
			if index(p, got.Subset) != test.want || index(p, got.Else) != test.then || got.Rule != "c" {
				t.Errorf("goes to %s, then %s, by %q; want %s, then %s", index(p, got.Subset), index(p, got.Else), got.Rule, test.want, test.then)
			}
		})
	}
}

func TestSubsetsAreDifferent(t *testing.T) {
	p := parse(t, `{"routes":[
		{"name":"a","when":{"methods":"A"},"to":[{"match":{"version":"2.0"}}]},
		{"name":"b","when":{"methods":"B"},"to":[{"match":{"tags":{"gpu":"yes"}}}]},
		{"name":"c","to":[{"match":{"id":"*"}}]}]}`).Plan(fleet())
	if len(p.Subsets) != 2 {
		t.Errorf("subsets %+v, want all and the one of 2.0", p.Subsets)
	}
	if got := p.Route(route.Call{Method: "S.C"}); got != (route.Target{Subset: 0, Else: route.None, Rule: "c"}) {
		t.Errorf("every instance is %+v, want subset 0", got)
	}
}

func TestNotes(t *testing.T) {
	for _, test := range []struct {
		name  string
		rules string
		want  []string
	}{
		{"nothing", `{"routes":[{"name":"r","to":[{"match":{"id":"a*"}}]}]}`, nil},
		{"an instance rule that fits none", `{"instances":[{"name":"gone","match":{"id":"z9"},"state":"off"}]}`,
			[]string{`rule "gone": none of 3 instances has id=z9`}},
		{"everything off", `{"instances":[{"match":{"id":"*"},"state":"off"}]}`, []string{"every instance is off: all calls fail"}},
		{"an empty side", `{"routes":[{"name":"c","to":[{"percent":90,"match":{"version":"1.*"}},{"percent":10,"match":{"version":"3","zone":["a","b"]}}]}]}`,
			[]string{`route "c": none of 3 instances has version=3 zone=a|b: 10 % of its calls go to other instances`}},
		{"an empty side, fail", `{"routes":[{"name":"c","to":[{"match":{"version":"3"}}],"else":"fail"}]}`,
			[]string{`route "c": none of 3 instances has version=3: 100 % of its calls fail`}},
		{"a side that gets nothing", `{"routes":[{"name":"c","to":[{"percent":100,"match":{"version":"1.*"}},{"percent":0,"match":{"version":"3"}}]}]}`, nil},
		{"a side that is off", `{"instances":[{"match":{"id":"b1"},"state":"off"}],"routes":[{"name":"c","to":[{"match":{"version":"2.0"}}]}]}`,
			[]string{`route "c": all instances with version=2.0 are off: 100 % of its calls go to other instances`}},
		{"a side that drains, fail", `{"instances":[{"match":{"id":"b1"},"state":"draining"}],"routes":[{"name":"c","to":[{"match":{"version":"2.0"}}],"else":"fail"}]}`,
			[]string{`route "c": all instances with version=2.0 are draining: 100 % of its calls go there all the same`}},
		{"a route behind one for all", `{"routes":[{"name":"r","to":[{"match":{"id":"*"}}]},{"name":"s","to":[{"match":{"id":"q"}}]}]}`,
			[]string{`route "s" never gets a call: route "r" takes them all`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules := parse(t, test.rules)
			if got := strings.Join(rules.Plan(fleet()).Notes, "\n"); got != strings.Join(test.want, "\n") {
				t.Errorf("notes\n%s\nwant\n%s", got, strings.Join(test.want, "\n"))
			}
			if got := rules.Plan(nil).Notes; got != nil {
				t.Errorf("an empty list has notes: %q", got)
			}
		})
	}
}
