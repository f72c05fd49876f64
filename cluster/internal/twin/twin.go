// Package twin makes a second reply for a call of which two attempts are made at once: they must not decode into the same one.
package twin

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/internal/stock"
)

// Of makes an empty reply of the same type.
func Of(reply any) any {
	if reply == nil {
		return nil
	}
	return reflect.New(reflect.TypeOf(reply).Elem()).Interface()
}

// Move makes reply what from is. Messages of protobuf must not be copied as plain memory.
func Move(reply, from any) {
	if reply == nil {
		return
	}
	if to, ok := stock.Message(reply); ok {
		proto.Reset(to)
		proto.Merge(to, from.(proto.Message))
		return
	}
	reflect.ValueOf(reply).Elem().Set(reflect.ValueOf(from).Elem())
}
