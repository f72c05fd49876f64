package acl_test

import (
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/acl"
)

func Example() {
	rules, err := acl.Parse([]byte(`{
		"allow": [{"principals": ["billing"], "methods": ["Orders.Get"]}],
		"deny":  [{"networks": ["203.0.113.0/24"]}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := acl.New(rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{a.Plugin()}})
	defer srv.Close()
	// Later, when the file of rules has changed:
	fmt.Println(a.Set(acl.Rules{Deny: []acl.Rule{{Methods: []string{"Orders"}}}}))
	// Output: InvalidArgument: acl: Deny[0]: the method "Orders" is none of Service.Method, Service.* and *
}
