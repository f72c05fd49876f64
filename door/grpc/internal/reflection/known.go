package reflection

import (
	"embed"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// known are the files of gRPC's own services, each a google.protobuf.FileDescriptorProto. A test of module
// interop compares them with those of grpc-go.
//
//go:embed known/*.binpb
var known embed.FS

// knownFiles links them.
func knownFiles() *protoregistry.Files {
	files := new(protoregistry.Files)
	for _, name := range []string{"health", "reflection_v1", "reflection_v1alpha"} {
		b, err := known.ReadFile("known/" + name + ".binpb")
		d := new(descriptorpb.FileDescriptorProto)
		if err != nil || proto.Unmarshal(b, d) != nil {
			continue // a test reads them all
		}
		if f, err := protodesc.NewFile(d, files); err == nil {
			_ = files.RegisterFile(f) // the first of its path
		}
	}
	return files
}

// Known returns the encoding of one of the files, "health", "reflection_v1" or "reflection_v1alpha".
func Known(name string) ([]byte, error) { return known.ReadFile("known/" + name + ".binpb") }
