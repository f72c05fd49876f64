package route_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// parse is for documents that are right.
func parse(t testing.TB, doc string) *route.Rules {
	t.Helper()
	r, err := route.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fleet is a service with two versions in two zones.
func fleet() []weft.Instance {
	return []weft.Instance{
		{ID: "a1", Address: "tcp://10.0.0.1:8972", Version: "1.4", Zone: "eu-1", Tags: map[string]string{"gpu": "no"}},
		{ID: "a2", Address: "tcp://10.0.0.2:8972", Version: "1.5", Zone: "eu-2"},
		{ID: "b1", Address: "tcp://10.0.1.1:8972", Version: "2.0", Zone: "eu-1", Group: "new", Tags: map[string]string{"gpu": "yes"}},
	}
}

// index is what a target leads to.
func index(p *route.Plan, target int) string {
	if target == route.None {
		return "none"
	}
	return fmt.Sprint(p.Subsets[target].Index)
}

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		name  string
		match string
		want  string
	}{
		{"all", `{"id":"*"}`, "[0 1 2]"},
		{"id", `{"id":"a2"}`, "[1]"},
		{"ids", `{"id":["a2","b1"]}`, "[1 2]"},
		{"beginning", `{"id":"a*"}`, "[0 1]"},
		{"end", `{"address":"*.1:8972"}`, "[0 2]"},
		{"middle", `{"address":"*0.1.*"}`, "[2]"},
		{"several stars", `{"address":"tcp://*.0.0.*:*"}`, "[0 1]"},
		{"fields must all match", `{"version":"1.*","zone":"eu-1"}`, "[0]"},
		{"group", `{"group":"new"}`, "[2]"},
		{"without a group", `{"group":""}`, "[0 1]"},
		{"with any group", `{"group":"*"}`, "[2]"},
		{"tag", `{"tags":{"gpu":"yes"}}`, "[2]"},
		{"tag that is there", `{"tags":{"gpu":"*"}}`, "[0 2]"},
		{"tag that is not there", `{"tags":{"gpu":""}}`, "[1]"},
		{"tag yes or none", `{"tags":{"gpu":["","yes"]}}`, "[1 2]"},
		{"bytes, not case", `{"id":"A1"}`, "none"},
		{"a part is not enough", `{"id":"a"}`, "none"},
		{"pieces may not overlap", `{"id":"a1*1"}`, "none"},
		{"many", `{"id":["1","2","3","4","5","6","7","8","9","b1"]}`, "[2]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, `{"routes":[{"name":"r","to":[{"match":`+test.match+`}],"else":"fail"}]}`).Plan(fleet())
			if got := index(p, p.Route(route.Call{}).Subset); got != test.want {
				t.Errorf("%s matches %s, want %s", test.match, got, test.want)
			}
		})
	}
}

func TestWhen(t *testing.T) {
	user := weft.NewMetadata("user", "ann", "tenant", "blue", "user", "bob")
	for _, test := range []struct {
		name string
		when string
		call route.Call
		want bool
	}{
		{"nothing asked", `{}`, route.Call{Method: "Greeter.Say"}, true},
		{"method", `{"methods":"Say"}`, route.Call{Method: "Greeter.Say"}, true},
		{"method without the service", `{"methods":"Say"}`, route.Call{Method: "Say"}, true},
		{"service with dots", `{"methods":"Say"}`, route.Call{Method: "demo.v1.Greeter.Say"}, true},
		{"other method", `{"methods":"Say"}`, route.Call{Method: "Greeter.SayAll"}, false},
		{"pattern", `{"methods":["Get*","Say*"]}`, route.Call{Method: "Greeter.SayAll"}, true},
		{"metadata", `{"metadata":[{"key":"user","in":["eve","ann"]}]}`, route.Call{Metadata: user}, true},
		{"metadata pattern", `{"metadata":[{"key":"user","in":"a*"}]}`, route.Call{Metadata: user}, true},
		{"the first value counts", `{"metadata":[{"key":"user","in":"bob"}]}`, route.Call{Metadata: user}, false},
		{"keys are compared by byte", `{"metadata":[{"key":"User","in":"ann"}]}`, route.Call{Metadata: user}, false},
		{"all conditions", `{"metadata":[{"key":"user","in":"ann"},{"key":"tenant","in":"blue"}]}`, route.Call{Metadata: user}, true},
		{"not all conditions", `{"metadata":[{"key":"user","in":"ann"},{"key":"tenant","in":"red"}]}`, route.Call{Metadata: user}, false},
		{"method and metadata", `{"methods":"Say","metadata":[{"key":"user","in":"ann"}]}`, route.Call{Method: "G.Get", Metadata: user}, false},
		{"there", `{"metadata":[{"key":"user","in":"*"}]}`, route.Call{Metadata: user}, true},
		{"missing", `{"metadata":[{"key":"trial","in":"*"}]}`, route.Call{Metadata: user}, false},
		{"missing is asked for", `{"metadata":[{"key":"trial","in":""}]}`, route.Call{Metadata: user}, true},
		{"no metadata", `{"metadata":[{"key":"user","in":"ann"}]}`, route.Call{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, `{"routes":[{"name":"r","when":`+test.when+`,"to":[{"match":{"id":"b1"}}]}]}`).Plan(fleet())
			if got := p.Route(test.call).Rule == "r"; got != test.want {
				t.Errorf("holds: %v, want %v", got, test.want)
			}
			if e := p.Explain(test.call); e.Routes[0].Holds != test.want || e.Routes[0].Why == "" {
				t.Errorf("explained as %+v, want %v", e.Routes[0], test.want)
			}
		})
	}
}

func TestFirstRouteCounts(t *testing.T) {
	p := parse(t, `{"routes":[
		{"name":"say","when":{"methods":"Say"},"to":[{"match":{"id":"a1"}}]},
		{"name":"all","to":[{"match":{"id":"b1"}}]}]}`).Plan(fleet())
	for method, want := range map[string]string{"G.Say": "[0]", "G.Get": "[2]"} {
		if got := index(p, p.Route(route.Call{Method: method}).Subset); got != want {
			t.Errorf("%s goes to %s, want %s", method, got, want)
		}
	}
}

// TestShortCuts: a plan finds the route of a call without looking at each; an
// explanation looks at each.
func TestShortCuts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range 300 {
		var v route.Revision
		for i := range 1 + random.IntN(64) {
			rule := route.RouteRule{Name: fmt.Sprint(i), To: []route.Side{{Percent: 100, Match: route.Match{ID: route.Patterns{"*"}}}}}
			for range random.IntN(3) {
				rule.When.Methods = append(rule.When.Methods, pick("Say", "Get", "GetAll", "Get*", "*All", "S*y"))
			}
			for range random.IntN(3) {
				rule.When.Metadata = append(rule.When.Metadata, route.Condition{Key: pick("k", "l", "m"), In: route.Patterns{pick("", "x", "y"), pick("", "y", "z*")}})
			}
			v.Routes = append(v.Routes, rule)
		}
		text, err := v.Encode()
		if err != nil {
			t.Fatal(err)
		}
		p := parse(t, string(text)).Plan(fleet())
		for range 30 {
			c := route.Call{Method: "G." + pick("Say", "Get", "GetAll", "Put", "SayAll", "Sy")}
			for range random.IntN(4) {
				c.Metadata = c.Metadata.With(pick("k", "l", "m", "other"), pick("", "x", "y", "zz"))
			}
			want := ""
			for _, verdict := range p.Explain(c).Routes {
				if verdict.Holds {
					want = verdict.Name
				}
			}
			if got := p.Route(c).Rule; got != want {
				t.Fatalf("%s %v goes by route %q, want %q, of\n%s", c.Method, c.Metadata, got, want, text)
			}
		}
	}
}

func TestNoRules(t *testing.T) {
	var none *route.Rules
	p := none.Plan(fleet())
	if got := p.Route(route.Call{Method: "G.Say"}); got != (route.Target{Subset: 0, Else: route.None}) {
		t.Errorf("without rules a call goes to %+v", got)
	}
	if got := index(p, 0); got != "[0 1 2]" || len(p.Subsets) != 1 || len(p.Notes) != 0 {
		t.Errorf("the plan is %+v", p)
	}
	if got := none.Method("G.Say"); got != (route.Method{}) {
		t.Errorf("Method = %+v", got)
	}
	if got := string(none.Encode()); got != "{}\n" {
		t.Errorf("Encode = %q", got)
	}
	if v := none.Revision(); v.Routes != nil || v.Version != 0 {
		t.Errorf("Revision = %+v", v)
	}
}
