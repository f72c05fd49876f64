// Package interop holds codec/msgpack against other libraries for MessagePack. It
// has nothing but tests, and is a module of its own, since what it compares with
// brings libraries that weft does not need.
package interop
