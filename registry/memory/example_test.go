package memory_test

import (
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/memory"
)

func Example() {
	reg, err := memory.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()

	// What a server does with its ServerConfig.Registry:
	_, err = reg.Register(weft.Instance{Service: "Arith", ID: "one", Address: "tcp://127.0.0.1:8972"})
	if err != nil {
		fmt.Println(err)
		return
	}

	// What a client does:
	found := make(chan weft.Instance, 1)
	stop := reg.Watch("Arith", func(s *registry.Snapshot) {
		for _, i := range s.Instances {
			select {
			case found <- i:
			default:
			}
		}
	})
	defer stop()
	i := <-found
	fmt.Println(i.ID, "at", i.Address)
	// Output: one at tcp://127.0.0.1:8972
}

// Two registries of one store stand for two processes.
func ExampleStore_Registry() {
	store := memory.NewStore()
	for range 2 {
		reg, err := store.Registry(nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer reg.Close()
		fmt.Println(reg.Name())
	}
	// Output:
	// memory
	// memory
}
