package static_test

import (
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/static"
)

// show prints the first list of a service, as a client gets it.
func show(reg *registry.Registry, service string) {
	first := make(chan *registry.Snapshot, 1)
	stop := reg.Watch(service, func(s *registry.Snapshot) {
		select {
		case first <- s:
		default:
		}
	})
	defer stop()
	for _, i := range (<-first).Instances {
		fmt.Printf("%s %s at %s, zone %q\n", i.Service, i.ID, i.Address, i.Zone)
	}
}

func Example() {
	reg, err := static.New("tcp://10.0.0.7:8972", "tcp://10.0.0.8:8972")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()
	show(reg, "Arith")
	// Output:
	// Arith tcp://10.0.0.7:8972 at tcp://10.0.0.7:8972, zone ""
	// Arith tcp://10.0.0.8:8972 at tcp://10.0.0.8:8972, zone ""
}

func ExampleOf() {
	reg, err := static.Of(
		weft.Instance{ID: "a", Address: "tcp://10.0.0.7:8972", Zone: "north"},
		weft.Instance{ID: "b", Address: "tcp://10.1.0.7:8972", Zone: "south", Weight: 300},
		weft.Instance{ID: "c", Address: "tcp://10.1.0.8:8972", Zone: "south", Service: "Greeter"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()
	show(reg, "Arith")
	show(reg, "Greeter")
	// Output:
	// Arith a at tcp://10.0.0.7:8972, zone "north"
	// Arith b at tcp://10.1.0.7:8972, zone "south"
	// Greeter a at tcp://10.0.0.7:8972, zone "north"
	// Greeter b at tcp://10.1.0.7:8972, zone "south"
	// Greeter c at tcp://10.1.0.8:8972, zone "south"
}
