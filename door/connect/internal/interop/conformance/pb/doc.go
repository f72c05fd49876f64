// Package pb has the messages of Connect's conformance suite, whose own package is internal. protoc-gen-go
// v1.36.12 has made them from the .proto files of connectrpc.com/conformance v1.0.7, which are under the Apache
// License 2.0, by The Connect Authors.
package pb
