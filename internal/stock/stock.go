// Package stock tells the messages of Protocol Buffers that are generated from structs that embed one.
package stock

import "google.golang.org/protobuf/proto"

// Message returns v as a message that protoc-gen-go has generated, or another plugin for google.golang.org/protobuf. ok is false for any other
// value, also for one of a struct that embeds a message: it has the methods of that message, which know nothing of the other fields.
func Message(v any) (m proto.Message, ok bool) {
	m, ok = v.(proto.Message)
	return m, ok && isItself(m)
}

// isItself reports whether the message that a value gives is the value.
func isItself(m proto.Message) (is bool) {
	defer func() {
		if recover() != nil { // it embeds an interface, or a pointer, which is nil
			is = false
		}
	}()
	return m.ProtoReflect().Interface() == m
}
