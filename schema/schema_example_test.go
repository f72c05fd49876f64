package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/schema"
)

// Line is a part of an order.
type Line struct {
	Article string `json:"article" doc:"number in the catalog"`
	Pieces  uint   `json:"pieces"`
}

// The schema of a type, with the schemas of the types that it contains.
func ExampleSet() {
	set := schema.NewSet("#/$defs/")
	of := set.Of(reflect.TypeFor[[]Line]())
	b, err := json.Marshal(of)
	fmt.Println(string(b), err)
	b, err = json.Marshal(set.Definitions())
	fmt.Println(string(b), err)
	// Output:
	// {"type":["array","null"],"items":{"$ref":"#/$defs/schema_test.Line"}} <nil>
	// {"schema_test.Line":{"type":"object","properties":{"article":{"type":"string","description":"number in the catalog"},"pieces":{"type":"integer","minimum":0}}}} <nil>
}
