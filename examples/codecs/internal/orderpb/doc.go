// Package orderpb is the order of the example in Protocol Buffers. It was made from
// order.proto by protoc 3.21.12 (Debian: protobuf-compiler) and the protoc-gen-go of
// the version of google.golang.org/protobuf in go.mod.
package orderpb

//go:generate go build -o ../../../../bin/protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go
//go:generate protoc --plugin=../../../../bin/protoc-gen-go --go_out=. --go_opt=paths=source_relative order.proto
