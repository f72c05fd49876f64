package descriptors_test

import (
	"fmt"
	"log"
	"reflect"

	"github.com/weftrpc/weft/codec/protobuf/descriptors"
)

func ExampleSet() {
	type Order struct {
		ID    int64
		Lines []string
	}
	set := descriptors.NewSet()
	if _, err := set.Add(reflect.TypeFor[Order](), ""); err != nil {
		log.Fatal(err)
	}
	for _, file := range set.Made() {
		for _, message := range file.MessageType {
			for _, field := range message.Field {
				fmt.Println(message.GetName(), field.GetName(), field.GetJsonName(), field.GetNumber())
			}
		}
	}
	// Output:
	// Order id ID 228576
	// Order lines Lines 233364
}
