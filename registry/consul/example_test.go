package consul_test

import (
	"fmt"
	"log"

	"github.com/weftrpc/weft/registry/consul"
)

// A server gets the registry in its weft.ServerConfig, a client in its cluster.Config.
func Example() {
	r, err := consul.New(consul.Config{Address: "localhost:8500"})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Name())
	// Output: consul localhost:8500
}
