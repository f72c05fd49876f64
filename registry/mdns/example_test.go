package mdns_test

import (
	"fmt"

	"github.com/weftrpc/weft/registry/mdns"
)

func Example() {
	r, err := mdns.New(&mdns.Config{Interfaces: []string{"eth0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	// A server takes r as its registry, a client as the source of its servers.
	fmt.Println(r.Name())
	// Output: mdns on eth0
}
