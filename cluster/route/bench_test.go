package route_test

import (
	"fmt"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// tenRoutes ask for methods and metadata; only the last takes the calls of Say.
func tenRoutes(tb testing.TB) *route.Rules {
	v := route.Revision{Methods: map[string]route.Method{"Say": {Attempts: 2}, "Get*": {Attempts: 3}}}
	all := []route.Side{{Percent: 90, Match: route.Match{Version: route.Patterns{"1.*"}}}, {Percent: 10, Match: route.Match{Version: route.Patterns{"2.*"}}}}
	for i := range 3 {
		v.Routes = append(v.Routes,
			route.RouteRule{Name: fmt.Sprint("method ", i), When: route.When{Methods: route.Patterns{"Put", "Get*"}}, To: all},
			route.RouteRule{Name: fmt.Sprint("user ", i), When: route.When{Metadata: []route.Condition{{Key: "user", In: route.Patterns{fmt.Sprint("u", i), "beta-*"}}}}, To: all},
			route.RouteRule{Name: fmt.Sprint("tenant ", i), When: route.When{Methods: route.Patterns{"Say"}, Metadata: []route.Condition{{Key: "tenant", In: route.Patterns{fmt.Sprint("t", i)}}}}, To: all},
		)
	}
	v.Routes = append(v.Routes, route.RouteRule{Name: "last", By: "user", To: all})
	text, err := v.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return parse(tb, string(text))
}

type namedCall struct {
	name string
	route.Call
}

func calls() []namedCall {
	return []namedCall{
		{"no_metadata", route.Call{Method: "Greeter.Say"}},
		{"key", route.Call{Method: "Greeter.Say", Key: "user-4711"}},
		{"metadata", route.Call{Method: "Greeter.Say", Metadata: weft.NewMetadata("trace", "0af7651916cd43dd8448eb211c80319c", "user", "ann", "tenant", "blue")}},
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, rules := range []struct {
		name string
		*route.Rules
	}{{"none", nil}, {"one", parse(b, `{"routes":[{"name":"c","to":[{"percent":90,"match":{"version":"1.*"}},{"percent":10,"match":{"version":"2.*"}}]}]}`)}, {"ten", tenRoutes(b)}} {
		p := rules.Plan(fleet())
		for _, c := range calls() {
			b.Run(rules.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Random += 0x9e3779b97f4a7c15
					p.Route(c.Call)
				}
			})
		}
	}
}

func BenchmarkRouteParallel(b *testing.B) {
	p := tenRoutes(b).Plan(fleet())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for c := calls()[2].Call; pb.Next(); {
			c.Random += 0x9e3779b97f4a7c15
			p.Route(c)
		}
	})
}

func BenchmarkMethod(b *testing.B) {
	rules := tenRoutes(b)
	for _, method := range []string{"Greeter.Say", "Greeter.GetUser", "Greeter.Put"} {
		b.Run(method, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Method(method)
			}
		})
	}
}

func many(n int) []weft.Instance {
	all := make([]weft.Instance, n)
	for i := range all {
		all[i] = weft.Instance{ID: fmt.Sprint("i", i), Version: fmt.Sprint(i%3, ".0"), Zone: fmt.Sprint("z", i%4)}
	}
	return all
}

func BenchmarkPlan(b *testing.B) {
	rules, all := tenRoutes(b), many(1000)
	for b.Loop() {
		rules.Plan(all)
	}
}

func BenchmarkParse(b *testing.B) {
	doc := tenRoutes(b).Encode()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := route.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// TestNoAllocations: a call costs no garbage.
func TestNoAllocations(t *testing.T) {
	rules := tenRoutes(t)
	p := rules.Plan(fleet())
	var live route.Live
	for _, c := range calls() {
		if n := testing.AllocsPerRun(100, func() { live.Rules(); p.Route(c.Call); rules.Method(c.Method) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
