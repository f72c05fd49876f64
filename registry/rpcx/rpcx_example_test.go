package rpcx_test

import (
	"fmt"

	"github.com/weftrpc/weft/registry/rpcx"
)

// An entry of an rpcx server as an instance.
func ExampleDecode() {
	i, err := rpcx.Decode("Arith", "tcp@10.0.0.7:8972", []byte("weight=5&group=blue&state=inactive"))
	fmt.Println(i.Address, i.Weight, i.Group, i.State, err)
	// Output: rpcx://10.0.0.7:8972 5 blue off <nil>
}
