// Package interop holds codec/msgpack against other libraries for MessagePack, and
// codec/protobuf against google.golang.org/protobuf with messages of many kinds. It
// has nothing but tests, and is a module of its own, since what it compares with
// brings libraries that weft does not need.
package interop
