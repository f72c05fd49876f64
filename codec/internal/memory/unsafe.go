//go:build !purego

package memory

import (
	"reflect"
	"unsafe"
)

// Unexported says that a Ref may refer to a field that is not exported.
const Unexported = true

// Cells is memory for numbers and strings that pointers point to.
type Cells struct {
	words []uint64
	used  uintptr
	texts []string
}

// Text makes the pointer r point to a new string. Several of them share memory: want is
// how many a message has.
func (c *Cells) Text(r Ref, _ reflect.Type, want int) Ref {
	if len(c.texts) == 0 {
		c.texts = make([]string, max(want, 1))
	}
	p := unsafe.Pointer(&c.texts[0])
	c.texts = c.texts[1:]
	*(*unsafe.Pointer)(r.p) = p
	return Ref{p}
}

// Ref refers to a variable.
type Ref struct{ p unsafe.Pointer }

// Offset says where a field lies in a struct.
type Offset uintptr

// Of returns a reference to the variable that pointer, which is not nil, points to.
func Of(pointer reflect.Value) Ref { return Ref{pointer.UnsafePointer()} }

// Target returns a reference to what v, which is a pointer, points to; ok is false if that is nil.
func Target(v any) (r Ref, ok bool) {
	p := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	return Ref{p}, p != nil
}

// Words says that no two types have one word.
const Words = true

// TypeWord returns a number for the type of v.
func TypeWord(v any) uint64 { return uint64((*[2]uintptr)(unsafe.Pointer(&v))[0]) }

// Hidden returns p, hidden from the compiler: what p points to may then stay on the stack of the caller, although p is
// passed to a method of an interface. That method must not keep it.
func Hidden[T any](p *T) *T {
	x := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&x))
}

// SizeOf returns how many bytes a variable of the type T has.
func SizeOf[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

// To returns a reference to the variable at p.
func To[T any](p *T) Ref { return Ref{unsafe.Pointer(p)} }

// As returns the address of the variable, whose type is T itself.
func As[T any](r Ref) *T { return (*T)(r.p) }

// Join returns the offset of the field f of a struct that lies at base within another.
func Join(base Offset, f reflect.StructField) Offset { return base + Offset(f.Offset) }

// Field returns a reference to a field of a struct.
func (r Ref) Field(at Offset) Ref { return Ref{unsafe.Add(r.p, uintptr(at))} }

// Value returns the variable, whose type is t.
func (r Ref) Value(t reflect.Type) reflect.Value { return reflect.NewAt(t, r.p).Elem() }

// Bool returns the value of a bool.
func (r Ref) Bool() bool { return *(*bool)(r.p) }

// SetBool sets a bool.
func (r Ref) SetBool(v bool) { *(*bool)(r.p) = v }

// Int8 returns the value of an int8.
func (r Ref) Int8() int8 { return *(*int8)(r.p) }

// Int16 returns the value of an int16.
func (r Ref) Int16() int16 { return *(*int16)(r.p) }

// Int32 returns the value of an int32.
func (r Ref) Int32() int32 { return *(*int32)(r.p) }

// Int64 returns the value of an int64.
func (r Ref) Int64() int64 { return *(*int64)(r.p) }

// Uint8 returns the value of a uint8.
func (r Ref) Uint8() uint8 { return *(*uint8)(r.p) }

// Uint16 returns the value of a uint16.
func (r Ref) Uint16() uint16 { return *(*uint16)(r.p) }

// Uint32 returns the value of a uint32.
func (r Ref) Uint32() uint32 { return *(*uint32)(r.p) }

// Uint64 returns the value of a uint64.
func (r Ref) Uint64() uint64 { return *(*uint64)(r.p) }

// Set8 sets an integer of 8 bits, signed or not.
func (r Ref) Set8(v uint8) { *(*uint8)(r.p) = v }

// Set16 sets an integer of 16 bits, signed or not.
func (r Ref) Set16(v uint16) { *(*uint16)(r.p) = v }

// Set32 sets an integer of 32 bits, signed or not.
func (r Ref) Set32(v uint32) { *(*uint32)(r.p) = v }

// Set64 sets an integer of 64 bits, signed or not.
func (r Ref) Set64(v uint64) { *(*uint64)(r.p) = v }

// Float32 returns the value of a float32.
func (r Ref) Float32() float32 { return *(*float32)(r.p) }

// SetFloat32 sets a float32.
func (r Ref) SetFloat32(v float32) { *(*float32)(r.p) = v }

// Float64 returns the value of a float64.
func (r Ref) Float64() float64 { return *(*float64)(r.p) }

// SetFloat64 sets a float64.
func (r Ref) SetFloat64(v float64) { *(*float64)(r.p) = v }

// Text returns the value of a string.
func (r Ref) Text() string { return *(*string)(r.p) }

// SetText sets a string.
func (r Ref) SetText(v string) { *(*string)(r.p) = v }

// Bytes returns the value of a slice of bytes.
func (r Ref) Bytes() []byte { return *(*[]byte)(r.p) }

// SetBytes sets a slice of bytes.
func (r Ref) SetBytes(v []byte) { *(*[]byte)(r.p) = v }

// Any returns the value of an interface without methods.
func (r Ref) Any() any { return *(*any)(r.p) }

// SetAny sets an interface without methods.
func (r Ref) SetAny(v any) { *(*any)(r.p) = v }

// IsNil reports whether a pointer, a map or a slice is nil.
func (r Ref) IsNil() bool { return *(*unsafe.Pointer)(r.p) == nil }

// Pointee returns a reference to what a pointer, which is not nil, points to.
func (r Ref) Pointee() Ref { return Ref{*(*unsafe.Pointer)(r.p)} }

// Allocate makes a pointer point to a new variable of the type t, and returns a
// reference to that.
func (r Ref) Allocate(t reflect.Type) Ref {
	p := reflect.New(t).UnsafePointer()
	*(*unsafe.Pointer)(r.p) = p
	return Ref{p}
}

// Number makes the pointer r point to a new number or bool of size bytes. Several of them
// share memory: want is how many bytes the numbers of a message take.
func (c *Cells) Number(r Ref, _ reflect.Type, size uintptr, want int) Ref {
	at := (c.used + size - 1) &^ (size - 1)
	if at+size > uintptr(len(c.words))*8 {
		c.words, at = make([]uint64, (max(want, 8)+7)/8), 0
	}
	c.used = at + size
	p := unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.words)), at)
	*(*unsafe.Pointer)(r.p) = p
	return Ref{p}
}

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// SetNil makes a pointer nil.
func (r Ref) SetNil() { *(*unsafe.Pointer)(r.p) = nil }

// Len returns the length of a slice.
func (r Ref) Len() int { return (*slice)(r.p).len }

// Cap returns the capacity of a slice.
func (r Ref) Cap() int { return (*slice)(r.p).cap }

// SetLen sets the length of a slice, to at most its capacity.
func (r Ref) SetLen(n int) { (*slice)(r.p).len = n }

// Elem returns a reference to element i of a slice that has it. Each element has
// size bytes.
func (r Ref) Elem(i int, size uintptr) Ref {
	return Ref{unsafe.Add((*slice)(r.p).data, uintptr(i)*size)}
}

// Index returns a reference to element i of an array that has it. Each element
// has size bytes.
func (r Ref) Index(i int, size uintptr) Ref { return Ref{unsafe.Add(r.p, uintptr(i)*size)} }

// Views says that String makes no copy.
const Views = true

// String returns b as a string. Its bytes must not change any more.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
