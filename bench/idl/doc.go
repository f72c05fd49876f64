// Package idl holds the published benchmark's schema and the program that
// turns it into Go.
//
// benchmark.proto is compiled twice, into two Go packages, because the two
// codecs must be told apart by type: a framework that asserts the vtprotobuf
// methods would find them on every message otherwise.
//
//   - idl/pb is what protoc-gen-go writes, for google.golang.org/protobuf;
//   - idl/vt is the same with the vtprotobuf methods (marshal, unmarshal, size).
//
// The second copy has the protobuf package "vt" instead of "main", since one
// process cannot register one full name twice. Names do not travel on the wire,
// so the bytes are the same.
//
// The generators are pinned by the tool lines of go.mod. No protoc is needed:
// the schema is parsed by bufbuild/protocompile.
package idl

//go:generate go run ./generate
