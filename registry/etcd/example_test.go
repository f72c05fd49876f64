package etcd_test

import (
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry/etcd"
)

func Example() {
	reg, err := etcd.New(etcd.Config{Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"}})
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
	// Output: etcd 10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379
}
