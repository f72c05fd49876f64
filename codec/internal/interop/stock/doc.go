// Package stock holds messages as protoc-gen-go generates them, for tests of the
// compiled codec of codec/protobuf. "go generate" makes them from the .proto files.
package stock

//go:generate go run ../generate
