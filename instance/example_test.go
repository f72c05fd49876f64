package instance_test

import (
	"encoding/json"
	"fmt"

	"github.com/weftrpc/weft/instance"
)

// A registry that keeps bytes has an instance as JSON.
func Example() {
	i := instance.Instance{Service: "Arith", ID: "a", Address: "tcp://10.0.0.7:8972", Weight: 200, Zone: "eu-1a", State: instance.Draining}
	fmt.Println(i.Check())
	text, _ := json.Marshal(i)
	fmt.Println(string(text))
	// Output:
	// <nil>
	// {"service":"Arith","id":"a","address":"tcp://10.0.0.7:8972","weight":200,"zone":"eu-1a","state":"draining"}
}
