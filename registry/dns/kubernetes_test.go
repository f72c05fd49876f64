package dns_test

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry/dns"
)

// The client of a headless service of Kubernetes, as docs/guide/kubernetes.md has it.
func Example_headless() {
	if err := headless(); err != nil {
		fmt.Println(err)
	}
	// Output: dns service.shop.svc.cluster.local.
}

func headless() error {
	reg, err := dns.New(dns.Config{
		Name: func(service string) string { return strings.ToLower(service) + ".shop.svc.cluster.local." },
		Port: 8972, // of all pods, whose addresses are in A and AAAA records
	})
	if err != nil {
		return err
	}
	defer reg.Close()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(reg.Name())
	return nil
}
