package dns_test

import (
	"fmt"

	"github.com/weftrpc/weft/registry/dns"
)

func Example() {
	r, err := dns.New(dns.Config{
		Name:    func(service string) string { return "_" + service + "._tcp.example.com" },
		Servers: []string{"10.0.0.2"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	// A client takes r as the source of its servers.
	fmt.Println(r.Name())
	// Output: dns _Service._tcp.example.com at 10.0.0.2:53
}
