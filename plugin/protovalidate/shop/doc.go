// Package shop has messages with rules, for the example, the tests and the measurements of package
// protovalidate. shop.pb.go is made from shop.proto by protoc-gen-go:
//
//	cd plugin/internal/together && GOWORK=off go run ./generate
package shop
