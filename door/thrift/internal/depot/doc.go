// Package depot is generated from a .thrift file with all that those may have, for tests.
package depot

//go:generate go run -C ../../../../generate ./cmd/weft-generate ../door/thrift/internal/depot/depot.thrift ../door/thrift/internal/depot/places/places.thrift
