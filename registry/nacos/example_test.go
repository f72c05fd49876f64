package nacos_test

import (
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry/nacos"
)

func Example() {
	reg, err := nacos.New(nacos.Config{Addresses: []string{"10.0.0.1:8848", "10.0.0.2:8848"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()

	// A server registers its services with it when it serves, and withdraws them when
	// it is shut down.
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg})
	defer srv.Close()

	fmt.Println(reg.Name())
	// Output: nacos 10.0.0.1:8848 10.0.0.2:8848
}
