// Package idl holds the published benchmark's schemas and the program that turns
// them into Go.
//
// benchmark.proto and math.proto are compiled into several Go packages,
// because the codecs must be told apart by type: a framework that asserts the
// vtprotobuf methods would find them on every message otherwise.
//
//   - idl/pb is what protoc-gen-go writes, for google.golang.org/protobuf;
//   - idl/vt is the same with the vtprotobuf methods (marshal, unmarshal, size);
//   - idl/vt3 is the message as proto3 has it, whose fields are no pointers, with the
//     methods with which vtprotobuf uses a message again, for the measurement of codecs;
//   - idl/gencode has structs of plain fields with methods as the gencode
//     generator writes them, which idl/generate makes itself;
//   - idl/numbered has the message as a plain struct with numbers, which weft's
//     codec takes as it is, and idl/coded the same with code that "weft generate
//     -codec" makes; both are written by hand but for that;
//   - idl/thrift/wire is what Thrift's compiler makes of benchmark.thrift. Its
//     struct, also one of plain fields, serves gob, JSON, MessagePack and CBOR.
//
// The other copies have the protobuf packages "vt" and "vt3" instead of "main", since one
// process cannot register one full name twice. Names do not travel on the wire,
// so the bytes are the same.
//
// The generators for protobuf are pinned by the tool lines of go.mod. No protoc
// is needed: the schema is parsed by bufbuild/protocompile. Thrift's compiler is
// not written in Go, so "go generate" leaves that package alone. Version 0.17.0,
// whose code the newest library takes, made it in this folder with
//
//	thrift --gen go -out thrift benchmark.thrift
//	rm -r thrift/wire/*-remote
//	gofmt -w thrift
package idl

//go:generate go run ./generate
