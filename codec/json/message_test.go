package json_test

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
)

type (
	byPointer struct {
		*wrapperspb.Int64Value
		Extra string
	}
	byInterface struct {
		proto.Message `json:",omitempty"`
		Extra         string
	}
)

// TestEmbeddedMessage has structs that embed a generated message, and so have its methods: they keep their own fields.
func TestEmbeddedMessage(t *testing.T) {
	c := json.New()
	for _, v := range []any{
		&byPointer{wrapperspb.Int64(7), "x"}, &byPointer{Extra: "x"}, &byInterface{Extra: "x"},
	} {
		if err := c.(codec.TypeChecker).CheckType(reflect.TypeOf(v)); err != nil {
			t.Errorf("CheckType of a %T: %v", v, err)
		}
		body, err := c.Append(nil, v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
			continue
		}
		got := reflect.New(reflect.TypeOf(v).Elem())
		if err := c.Decode(body, got.Interface()); err != nil || got.Elem().FieldByName("Extra").String() != "x" {
			t.Errorf("%T: %s becomes %v, %v", v, body, got, err)
		}
	}
}
