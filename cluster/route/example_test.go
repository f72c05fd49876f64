package route_test

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// A client plans once for every change and asks the plan for every call.
func Example() {
	rules, err := route.Parse([]byte(`{
		"instances": [{"name": "broken disk", "match": {"id": "a2"}, "state": "off"}],
		"routes": [{"name": "canary", "by": "user", "to": [
			{"percent": 90, "match": {"version": "1.*"}},
			{"percent": 10, "match": {"version": "2.0"}}]}],
		"methods": {"Say": {"timeout": "250ms", "attempts": 3}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	instances := []weft.Instance{{ID: "a1", Version: "1.4"}, {ID: "a2", Version: "1.4"}, {ID: "b1", Version: "2.0"}}

	plan := rules.Plan(instances)
	fmt.Println(instances[1].ID, "is", plan.Instances[1].Why)
	for _, user := range []string{"ann", "eve", "user-4"} {
		call := route.Call{Method: "Greeter.Say", Metadata: weft.NewMetadata("user", user)}
		fmt.Println(user, "gets", plan.Subsets[plan.Route(call).Subset].Name)
	}
	fmt.Println(rules.Method("Greeter.Say"))
	// Output:
	// a2 is off by rule "broken disk"
	// ann gets canary: version=1.*
	// eve gets canary: version=1.*
	// user-4 gets canary: version=1.*
	// timeout 250ms, 3 attempts
}

// A mistake is refused with its place.
func ExampleParse() {
	_, err := route.Parse([]byte(`{"routes": [{"name": "canary", "to": [
	{"percent": 90, "match": {"version": "1.*"}},
	{"percent": 5, "match": {"version": "2.0"}}]}]}`))
	fmt.Println(err)
	// Output: rules: line 1, column 38: routes[0].to: the percentages add up to 95: make it 100
}

// What rules would do is known before they are stored.
func ExampleDryRun() {
	proposed, err := route.Parse([]byte(`{"instances": [{"match": {"id": "a1"}, "weight": 50}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	instances := []weft.Instance{{ID: "a1"}, {ID: "a2"}}
	calls := []route.Call{{Method: "Greeter.Say"}}
	fmt.Print(route.DryRun(nil, proposed, instances, calls))
	// Output:
	// instance a1: weight 100 -> 50, 50.0 % -> 33.3 % of the calls
	// instance a2: 50.0 % -> 66.7 % of the calls
	// 0 of 1 calls would go elsewhere
}

// Every stored document has a number and remembers those before it.
func ExampleRollback() {
	at := time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC)
	first, _ := route.Next(nil, []byte(`{"methods": {"*": {"timeout": "1s"}}}`), "ann", "", at)
	second, _ := route.Next(first, []byte(`{"methods": {"*": {"timeout": "1ms"}}}`), "bob", "faster", at)
	third, err := route.Rollback(second, 1, "ann", "", at)
	fmt.Println(err)

	all, _ := route.History(third)
	for _, v := range all {
		fmt.Printf("%d %s %q %v\n", v.Version, v.By, v.Note, v.Methods["*"])
	}
	// Output:
	// <nil>
	// 3 ann "roll-back to version 1" timeout 1s
	// 2 bob "faster" timeout 1ms
	// 1 ann "" timeout 1s
}
