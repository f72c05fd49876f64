// Package benchmark is the message of the published RPC comparisons: 581 bytes
// encoded, with every field of its schema but one set.
//
// benchmark.proto is the published schema. benchmark.pb.go was made from it by
// protoc 3.21.12 (Debian: protobuf-compiler) and the protoc-gen-go of the version
// of google.golang.org/protobuf in go.mod.
package benchmark

//go:generate go build -o ../../../bin/protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate protoc --plugin=../../../bin/protoc-gen-go --go_out=. --go_opt=paths=source_relative,Mbenchmark.proto=github.com/weftrpc/weft/examples/internal/benchmark benchmark.proto

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Size is the number of bytes of the encoded message.
const Size = 581

// What the fields of the message hold.
const (
	text   = "许多往事在眼前一幕一幕，变的那麼模糊"
	number = 100000
)

// What a server answers in the first two fields.
const (
	answerText   = "OK"
	answerNumber = 100
)

// New makes the message. The error says that its encoding does not have Size
// bytes, which would make every figure meaningless.
func New() (*BenchmarkMessage, error) {
	m := new(BenchmarkMessage)
	fill(m.ProtoReflect())
	if n := proto.Size(m); n != Size {
		return nil, fmt.Errorf("the message has %d bytes, the published one has %d", n, Size)
	}
	return m, nil
}

// fill sets every field as the published programs do: all strings alike, all
// integers alike, all booleans true, and the one list left empty.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsList():
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(text))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		case f.Kind() == protoreflect.Int32Kind:
			m.Set(f, protoreflect.ValueOfInt32(number))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(number))
		}
	}
}

// Answer makes the reply of a request, in place, as the published servers do.
func Answer(m *BenchmarkMessage) *BenchmarkMessage {
	m.Field1, m.Field2 = proto.String(answerText), proto.Int32(answerNumber)
	return m
}

// Check tells whether m is the reply of a server.
func Check(m *BenchmarkMessage) error {
	if m.GetField1() != answerText || m.GetField2() != answerNumber {
		return fmt.Errorf("the reply has %.20q and %d in its first two fields, want %q and %d",
			m.GetField1(), m.GetField2(), answerText, answerNumber)
	}
	return nil
}
