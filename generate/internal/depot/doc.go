// Package depot is generated from a .proto file, for the tests of package generate.
package depot

//go:generate go run ../../cmd/weft-generate -codec depot.proto
