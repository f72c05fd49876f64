package route_test

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

const explained = `{
	"routes": [
		{"name": "batch", "when": {"methods": ["Get*", "List"]}, "to": [{"match": {"zone": "eu-2"}}]},
		{"name": "trial", "when": {"metadata": [{"key": "trial", "in": "yes"}]}, "to": [{"match": {"group": "new"}}]},
		{"name": "staff", "when": {"methods": "Say", "metadata": [{"key": "user", "in": ["bob", "team-*"]}]}, "to": [{"match": {"group": "none"}}], "else": "fail"},
		{"name": "canary", "by": "user", "to": [{"percent": 90, "match": {"version": "1.*"}}, {"percent": 10, "match": {"version": "2.*"}}]},
		{"name": "late", "to": [{"match": {"id": "*"}}]}
	],
	"methods": {"Say": {"timeout": "1s"}}
}`

func TestExplain(t *testing.T) {
	ann := weft.NewMetadata("user", "ann")
	for _, test := range []struct {
		name string
		call route.Call
		want string
	}{
		{"by metadata", route.Call{Method: "G.Say", Metadata: ann}, `
route "batch": no: method "Say" is not Get*|List
route "trial": no: there is no metadata "trial", it asks for yes
route "staff": no: metadata "user" is "ann", not bob|team-*
route "canary": yes: it takes every call
route "late": no: not asked: route "canary" took the call
side: version=1.*, which gets 90 %: place ? of 100 by metadata "user", "ann"
instances: canary: version=1.* (2 instances); when none of them can be reached, all (3 instances)
method: timeout 1s
`},
		{"by key", route.Call{Method: "G.Put", Key: "k1"}, `
route "batch": no: method "Put" is not Get*|List
route "trial": no: there is no metadata "trial", it asks for yes
route "staff": no: method "Put" is not Say
route "canary": yes: it takes every call
route "late": no: not asked: route "canary" took the call
side: version=1.*, which gets 90 %: place ? of 100 by the key "k1" of the call
instances: canary: version=1.* (2 instances); when none of them can be reached, all (3 instances)
method: as configured
`},
		{"fails", route.Call{Method: "G.Say", Metadata: weft.NewMetadata("user", "bob", "trial", "no")}, `
route "batch": no: method "Say" is not Get*|List
route "trial": no: metadata "trial" is "no", not yes
route "staff": yes: method "Say" is Say, metadata "user" is "bob"
route "canary": no: not asked: route "staff" took the call
route "late": no: not asked: route "staff" took the call
side: group=none
instances: none: the call fails, since no instance matches and the route asks for no other
method: timeout 1s
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse(t, explained).Plan(fleet())
			e := p.Explain(test.call)
			if got := withoutPlace(e.String()); got != strings.TrimPrefix(test.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
			if e.Target != p.Route(test.call) {
				t.Errorf("explains %+v, not %+v", e.Target, p.Route(test.call))
			}
		})
	}
}

// withoutPlace hides the number behind "place", which TestPlaces is about.
func withoutPlace(s string) string {
	before, after, ok := strings.Cut(s, "place ")
	if !ok {
		return s
	}
	_, after, _ = strings.Cut(after, " ")
	return before + "place ? " + after
}

func TestExplainWithoutRules(t *testing.T) {
	var none *route.Rules
	want := "there are no routes\ninstances: all (3 instances)\nmethod: as configured\n"
	if got := none.Plan(fleet()).Explain(route.Call{Method: "G.Say"}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want = "route \"r\": no: method \"Say\" is not Get\nno route takes the call\ninstances: none: there is no instance that is not off\nmethod: as configured\n"
	p := parse(t, `{"routes":[{"name":"r","when":{"methods":"Get"},"to":[{"match":{"id":"*"}}]}]}`).Plan(nil)
	if got := p.Explain(route.Call{Method: "G.Say"}).String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestExplainIsShort: what a caller sends does not flood an explanation.
func TestExplainIsShort(t *testing.T) {
	p := parse(t, explained).Plan(fleet())
	call := route.Call{Method: strings.Repeat("m", 10_000), Metadata: weft.NewMetadata("user", strings.Repeat("ü", 10_000)), Key: strings.Repeat("k", 10_000)}
	if got := p.Explain(call).String(); len(got) > 2000 || !strings.Contains(got, "…") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
