//go:build purego

package memory

import (
	"reflect"
	"slices"
)

// Unexported says that a Ref may refer to a field that is not exported.
const Unexported = false

// Cells is memory for numbers and strings that pointers point to; here each has its own.
type Cells struct{}

// Ref refers to a variable.
type Ref struct{ v reflect.Value }

// Offset says where a field lies in a struct.
type Offset *[]int

// Of returns a reference to the variable that pointer, which is not nil, points to.
func Of(pointer reflect.Value) Ref { return Ref{pointer.Elem()} }

// Target returns a reference to what v, which is a pointer, points to; ok is false if that is nil.
func Target(v any) (r Ref, ok bool) {
	p := reflect.ValueOf(v)
	if p.IsNil() {
		return r, false
	}
	return Of(p), true
}

// Words says that no two types have one word.
const Words = false

// TypeWord returns a number for the type of v.
func TypeWord(any) uint64 { return 0 }

// Hidden returns p.
func Hidden[T any](p *T) *T { return p }

// SizeOf returns how many bytes a variable of the type T has.
func SizeOf[T any]() uintptr { return reflect.TypeFor[T]().Size() }

// To returns a reference to the variable at p.
func To[T any](p *T) Ref { return Ref{reflect.ValueOf(p).Elem()} }

// As returns the address of the variable, whose type is T itself.
func As[T any](r Ref) *T { return r.v.Addr().Interface().(*T) }

// Join returns the offset of the field f of a struct that lies at base within another.
func Join(base Offset, f reflect.StructField) Offset {
	if base == nil {
		return &f.Index
	}
	path := append(slices.Clone(*base), f.Index...)
	return &path
}

// Field returns a reference to a field of a struct.
func (r Ref) Field(at Offset) Ref {
	if at == nil {
		return r
	}
	return Ref{r.v.FieldByIndex(*at)}
}

// Value returns the variable, whose type is t.
func (r Ref) Value(reflect.Type) reflect.Value { return r.v }

// Bool returns the value of a bool.
func (r Ref) Bool() bool { return r.v.Bool() }

// SetBool sets a bool.
func (r Ref) SetBool(v bool) { r.v.SetBool(v) }

// Int8 returns the value of an int8.
func (r Ref) Int8() int8 { return int8(r.v.Int()) }

// Int16 returns the value of an int16.
func (r Ref) Int16() int16 { return int16(r.v.Int()) }

// Int32 returns the value of an int32.
func (r Ref) Int32() int32 { return int32(r.v.Int()) }

// Int64 returns the value of an int64.
func (r Ref) Int64() int64 { return r.v.Int() }

// Uint8 returns the value of a uint8.
func (r Ref) Uint8() uint8 { return uint8(r.v.Uint()) }

// Uint16 returns the value of a uint16.
func (r Ref) Uint16() uint16 { return uint16(r.v.Uint()) }

// Uint32 returns the value of a uint32.
func (r Ref) Uint32() uint32 { return uint32(r.v.Uint()) }

// Uint64 returns the value of a uint64.
func (r Ref) Uint64() uint64 { return r.v.Uint() }

// set sets an integer to the signed or the unsigned value.
func (r Ref) set(signed int64, unsigned uint64) {
	if r.v.CanInt() {
		r.v.SetInt(signed)
	} else {
		r.v.SetUint(unsigned)
	}
}

// Set8 sets an integer of 8 bits, signed or not.
func (r Ref) Set8(v uint8) { r.set(int64(int8(v)), uint64(v)) }

// Set16 sets an integer of 16 bits, signed or not.
func (r Ref) Set16(v uint16) { r.set(int64(int16(v)), uint64(v)) }

// Set32 sets an integer of 32 bits, signed or not.
func (r Ref) Set32(v uint32) { r.set(int64(int32(v)), uint64(v)) }

// Set64 sets an integer of 64 bits, signed or not.
func (r Ref) Set64(v uint64) { r.set(int64(v), v) }

// Float32 returns the value of a float32.
func (r Ref) Float32() float32 { return float32(r.v.Float()) }

// SetFloat32 sets a float32.
func (r Ref) SetFloat32(v float32) { r.v.SetFloat(float64(v)) }

// Float64 returns the value of a float64.
func (r Ref) Float64() float64 { return r.v.Float() }

// SetFloat64 sets a float64.
func (r Ref) SetFloat64(v float64) { r.v.SetFloat(v) }

// Text returns the value of a string.
func (r Ref) Text() string { return r.v.String() }

// SetText sets a string.
func (r Ref) SetText(v string) { r.v.SetString(v) }

// Bytes returns the value of a slice of bytes.
func (r Ref) Bytes() []byte { return r.v.Bytes() }

// SetBytes sets a slice of bytes.
func (r Ref) SetBytes(v []byte) { r.v.SetBytes(v) }

// Any returns the value of an interface without methods.
func (r Ref) Any() any { return r.v.Interface() }

// SetAny sets an interface without methods.
func (r Ref) SetAny(v any) {
	if v == nil {
		r.v.SetZero()
		return
	}
	r.v.Set(reflect.ValueOf(v))
}

// IsNil reports whether a pointer, a map or a slice is nil.
func (r Ref) IsNil() bool { return r.v.IsNil() }

// Pointee returns a reference to what a pointer, which is not nil, points to.
func (r Ref) Pointee() Ref { return Ref{r.v.Elem()} }

// Allocate makes a pointer point to a new variable of the type t, and returns a
// reference to that.
func (r Ref) Allocate(t reflect.Type) Ref {
	r.v.Set(reflect.New(t))
	return Ref{r.v.Elem()}
}

// SetNil makes a pointer nil.
func (r Ref) SetNil() { r.v.SetZero() }

// Number makes the pointer r point to a new number or bool.
func (*Cells) Number(r Ref, t reflect.Type, _ uintptr, _ int) Ref { return r.Allocate(t) }

// Text makes the pointer r point to a new string.
func (*Cells) Text(r Ref, t reflect.Type, _ int) Ref { return r.Allocate(t) }

// Len returns the length of a slice.
func (r Ref) Len() int { return r.v.Len() }

// Cap returns the capacity of a slice.
func (r Ref) Cap() int { return r.v.Cap() }

// SetLen sets the length of a slice, to at most its capacity.
func (r Ref) SetLen(n int) { r.v.SetLen(n) }

// Elem returns a reference to element i of a slice that has it. Each element has
// size bytes.
func (r Ref) Elem(i int, _ uintptr) Ref { return Ref{r.v.Index(i)} }

// Index returns a reference to element i of an array that has it. Each element
// has size bytes.
func (r Ref) Index(i int, _ uintptr) Ref { return Ref{r.v.Index(i)} }

// Views says that String makes no copy.
const Views = false

// String returns b as a string. Its bytes must not change any more.
func String(b []byte) string { return string(b) }
