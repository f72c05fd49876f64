// Package protocol reads and writes the values and messages of Thrift, in its binary and compact
// protocols. It works on slices of bytes and knows no Go types.
package protocol

import (
	"errors"
	"fmt"
)

// Type is the type of a value, by its number in the binary protocol.
type Type uint8

// The types.
const (
	Stop   Type = 0 // ends the fields of a struct
	Bool   Type = 2
	I8     Type = 3
	Double Type = 4
	I16    Type = 6
	I32    Type = 8
	I64    Type = 10
	String Type = 11 // text or bytes
	Struct Type = 12
	Map    Type = 13
	Set    Type = 14
	List   Type = 15
	UUID   Type = 16
)

// String is the name of the type in Thrift's language.
func (t Type) String() string {
	switch t {
	case Bool:
		return "bool"
	case I8:
		return "i8"
	case Double:
		return "double"
	case I16:
		return "i16"
	case I32:
		return "i32"
	case I64:
		return "i64"
	case String:
		return "string"
	case Struct:
		return "struct"
	case Map:
		return "map"
	case Set:
		return "set"
	case List:
		return "list"
	case UUID:
		return "uuid"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// MaxDepth is how deep structs and containers may stand in one another.
const MaxDepth = 64

// What can be wrong with bytes.
var (
	ErrShort = errors.New("thrift: the message ends within a value")
	errDepth = errors.New("thrift: more than 64 structs and containers stand in one another")
	errFlood = errors.New("thrift: a number has more bytes than its type allows")
	errType  = errors.New("thrift: a value has a type that does not exist")
)

// compactType is the number of a type in the compact protocol; 0: there is none.
func compactType(t Type) byte {
	const numbers = "\x00\x00\x01\x03\x07\x00\x04\x00\x05\x00\x06\x08\x0c\x0b\x0a\x09\x0d"
	if int(t) < len(numbers) {
		return numbers[t]
	}
	return 0
}

// typeOfCompact is the type whose number in the compact protocol are the low four bits of c; Stop: there is none.
func typeOfCompact(c byte) Type {
	const types = "\x00\x02\x02\x03\x06\x08\x0a\x04\x0b\x0f\x0e\x0d\x0c\x10\x00\x00"
	return Type(types[c&15])
}

// least is how many bytes a value has at least; 0: there is no such type.
func least(compact bool, t Type) int {
	switch t {
	case Bool, I8, Struct:
		return 1
	case Double:
		return 8
	case UUID:
		return 16
	}
	if compact {
		if compactType(t) == 0 {
			return 0
		}
		return 1
	}
	switch t {
	case I16:
		return 2
	case I32, String:
		return 4
	case I64:
		return 8
	case Map:
		return 6
	case Set, List:
		return 5
	}
	return 0
}

// fixed is the number of bytes of every value of the type; 0: it is not the same for all.
func fixed(compact bool, t Type) int {
	switch t {
	case Bool, I8, Double, UUID:
		return least(compact, t)
	case I16, I32, I64:
		if !compact {
			return least(false, t)
		}
	}
	return 0
}
