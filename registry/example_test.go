package registry_test

import (
	"fmt"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/static"
)

// A client can learn its servers from two registries while a system moves from one
// to the other. Servers that get the joined registry register with both.
func ExampleJoin() {
	first, err := static.New("tcp://10.0.0.1:8972", "tcp://10.0.0.2:8972")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()
	second, err := static.New("tcp://10.0.0.2:8972", "tcp://10.0.0.3:8972")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer second.Close()

	told := make(chan *registry.Snapshot, 16)
	stop := registry.Join(first, second).Watch("Arith", func(s *registry.Snapshot) { told <- s })
	defer stop()
	for s := range told {
		if len(s.Instances) == 3 {
			for _, i := range s.Instances {
				fmt.Println(i.Address)
			}
			return
		}
	}
	// Output:
	// tcp://10.0.0.1:8972
	// tcp://10.0.0.2:8972
	// tcp://10.0.0.3:8972
}
