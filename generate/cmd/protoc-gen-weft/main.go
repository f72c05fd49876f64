// Command protoc-gen-weft is a plugin of protoc and buf that writes clients and register
// functions for weft, beside the messages of protoc-gen-go:
//
//	protoc --go_out=. --weft_out=. --go_opt=paths=source_relative --weft_opt=paths=source_relative shop.proto
package main

import (
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/weftrpc/weft/generate"
)

func main() {
	protogen.Options{}.Run(func(gen *protogen.Plugin) error {
		gen.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL | pluginpb.CodeGeneratorResponse_FEATURE_SUPPORTS_EDITIONS)
		gen.SupportedEditionsMinimum = descriptorpb.Edition_EDITION_PROTO2
		gen.SupportedEditionsMaximum = descriptorpb.Edition_EDITION_2024
		return generate.Plugin(gen)
	})
}
