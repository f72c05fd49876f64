package zookeeper_test

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/zookeeper"
)

func Example() {
	r, err := zookeeper.New(zookeeper.Config{
		Servers:  []string{"zk1.example:2181", "zk2.example:2181", "zk3.example:2181"},
		Registry: registry.Config{TTL: 6 * time.Second},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Name())
	// Output: zookeeper zk1.example:2181,zk2.example:2181,zk3.example:2181/weft
}
