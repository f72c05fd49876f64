package compare_test

import (
	"fmt"
	"log"
	"reflect"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/compare"
)

// What breaks when a field gets another name.
func ExampleModels() {
	model := func(args reflect.Type) *schema.Model {
		b := schema.NewBuilder()
		b.Add("Arith", schema.Method{Name: "Neg", Kind: schema.Unary, Request: b.Reflect(args, "Args"), Reply: b.Reflect(reflect.TypeFor[struct{}](), "")})
		m, err := b.Model()
		if err != nil {
			log.Fatal(err)
		}
		return m
	}
	before := model(reflect.TypeFor[struct {
		A int `json:"a"`
	}]())
	after := model(reflect.TypeFor[struct {
		A int `json:"operand"`
	}]())
	for _, c := range compare.Models(before, after) {
		fmt.Println(c.Rule, c.Wires, c.Text)
	}
	// Output:
	// FIELD_RENAMED [json protobuf] the field a of main.Args is operand in json now
}
