// Package coded finds the code that was generated for structs; see package generated.
package coded

import (
	"reflect"
	"strings"

	"github.com/weftrpc/weft/codec/generated"
)

// Fields returns the fields for which there is generated code for the struct t; ok is false when
// it has no code of its own.
func Fields(t reflect.Type) (fields string, ok bool) {
	fields = fieldsWeft(t)
	if name, _, _ := strings.Cut(fields, "{"); fields == "" || name != t.Name() {
		return "", false // there is none, or it is that of an embedded struct
	}
	for f := range t.Fields() {
		if f.Anonymous && fieldsWeft(f.Type) == fields { // it is that of a struct with the same name, of another package
			return "", false
		}
	}
	return fields, true
}

// fieldsWeft returns what FieldsWeft of the struct t, or what t points to, returns; "" when there is no such method.
func fieldsWeft(t reflect.Type) (fields string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	m, ok := reflect.New(t).Interface().(generated.Message)
	if !ok {
		return ""
	}
	defer func() {
		if recover() != nil { // it is the method of a struct behind an embedded pointer, which is nil
			fields = ""
		}
	}()
	return m.FieldsWeft()
}
