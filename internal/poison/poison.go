// Package poison overwrites memory that is about to be used again, so that code that still
// reads it finds values that cannot be taken for its own. With the race detector, a
// goroutine that reads at the same time is reported too.
package poison

import "reflect"

// Octet is what bytes become.
const Octet = 0xdb

// Text is what strings become.
const Text = "weft: this message is used after its time: its memory was used again"

// maxDepth bounds how deep Value goes: a value may contain itself.
const maxDepth = 64

// Bytes overwrites b.
func Bytes(b []byte) {
	for i := range b {
		b[i] = Octet
	}
}

// Value overwrites what v points to: numbers, strings, and what is behind pointers and in
// lists. Byte slices are left alone, since they may be the program's own.
func Value(v any) { overwrite(reflect.ValueOf(v), true, maxDepth) }

// Top is Value for what v, which is not nil, points to alone: what that refers to may be the program's own.
func Top(v any) { overwrite(reflect.ValueOf(v).Elem(), false, maxDepth) }

// overwrite overwrites v, and what it refers to if that is deep.
func overwrite(v reflect.Value, deep bool, depth int) {
	if depth == 0 || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if deep && !v.IsNil() {
			overwrite(v.Elem(), deep, depth-1)
		}
		return
	case reflect.Struct:
		for i := range v.NumField() {
			overwrite(v.Field(i), deep, depth-1)
		}
		return
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && (!deep || v.Type().Elem().Kind() == reflect.Uint8) {
			return
		}
		for i := range v.Len() {
			overwrite(v.Index(i), deep, depth-1)
		}
		return
	}
	if !v.CanSet() {
		return // of a field that is not exported
	}
	bits := uint64(0)
	for range 8 {
		bits = bits<<8 | Octet
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(bits) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(bits >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(-float64(bits >> 1))
	case reflect.String:
		v.SetString(Text)
	case reflect.Map:
		if deep && !v.IsNil() {
			v.Clear()
		}
	}
}
