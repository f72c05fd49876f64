package msg

import (
	"reflect"

	"github.com/weftrpc/weft/bench/idl/coded"
	"github.com/weftrpc/weft/bench/idl/gencode"
	"github.com/weftrpc/weft/bench/idl/numbered"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
)

// NewPlain makes the published message as a struct of plain fields, for codecs
// that know nothing of protobuf. Its one field that protobuf repeats, and the
// published message leaves empty, is a number here, as in the published Thrift
// schema.
func NewPlain() *wire.BenchmarkMessage {
	m := new(wire.BenchmarkMessage)
	fillFields(reflect.ValueOf(m).Elem())
	return m
}

// NewNumbered makes the published message as a struct of plain fields with numbers.
func NewNumbered() *numbered.BenchmarkMessage {
	m := new(numbered.BenchmarkMessage)
	fillFields(reflect.ValueOf(m).Elem())
	return m
}

// NewCoded is NewNumbered with generated code.
func NewCoded() *coded.BenchmarkMessage {
	m := new(coded.BenchmarkMessage)
	fillFields(reflect.ValueOf(m).Elem())
	return m
}

// NewGencode makes the published message for the gencode codec.
func NewGencode() *gencode.BenchmarkMessage {
	m := new(gencode.BenchmarkMessage)
	fillFields(reflect.ValueOf(m).Elem())
	return m
}

// fillFields sets every field of a struct that is not a list.
func fillFields(fields reflect.Value) {
	for i := range fields.NumField() {
		switch field := fields.Field(i); field.Kind() {
		case reflect.String:
			field.SetString(Text)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int32, reflect.Int64:
			field.SetInt(Number)
		}
	}
}

// AnswerPlain is Answer for the plain message.
func (s *Service) AnswerPlain(m Method, message *wire.BenchmarkMessage) {
	message.Field1, message.Field2 = s.Text(m), replyNumber
}

// CheckPlain is Check for the plain message.
func CheckPlain(m Method, reply *wire.BenchmarkMessage) error {
	return CheckFields(m, reply.Field1, reply.Field2)
}
