package export_test

import (
	"fmt"
	"log"
	"reflect"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

// A service with one method, as a .proto file.
func ExampleWrite() {
	type Args struct {
		A int `json:"a" doc:"the first operand"`
		B int `json:"b"`
	}
	type Product struct{ C int }
	b := schema.NewBuilder()
	b.Add("Arith", schema.Method{Name: "Mul", Kind: schema.Unary, Doc: "Mul multiplies.",
		Request: b.Reflect(reflect.TypeFor[Args](), ""), Reply: b.Reflect(reflect.TypeFor[Product](), "")})
	model, err := b.Model()
	if err != nil {
		log.Fatal(err)
	}
	out, err := export.Write(model, export.Proto, schema.Info{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", out.Files[0].Content)
	// Output:
	// // Written by weft schema. Do not edit.
	//
	// syntax = "proto3";
	//
	// service Arith {
	//   // Mul multiplies.
	//   rpc Mul(Args) returns (Product);
	// }
	//
	// // The numbers of the fields are hashes of their names in JSON.
	// message Args {
	//   // the first operand
	//   int64 a = 216908;
	//   int64 b = 152061;
	// }
	//
	// // The numbers of the fields are hashes of their names in JSON.
	// message Product {
	//   int64 c = 81994 [json_name = "C"];
	// }
}
