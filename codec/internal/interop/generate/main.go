// Command generate makes the messages of the folder stock from its .proto files, with
// protocompile and the protoc-gen-go that go.mod names. It runs in that folder.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	log.SetFlags(0)
	for _, name := range []string{"two.proto", "three.proto", "editions.proto", "receipt.proto"} {
		if err := generate(name); err != nil {
			log.Fatalf("generate from %s: %v", name, err)
		}
	}
}

func generate(name string) error {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	const target = "github.com/weftrpc/weft/codec/internal/interop/stock"
	var all []*descriptorpb.FileDescriptorProto // each behind what it imports
	imports := files[0].Imports()
	for i := range imports.Len() {
		all = append(all, protoutil.ProtoFromFileDescriptor(imports.Get(i).FileDescriptor))
	}
	all = append(all, protoutil.ProtoFromFileDescriptor(files[0]))
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative,M" + name + "=" + target),
		ProtoFile:      all,
	})
	if err != nil {
		return err
	}
	plugin := exec.Command("go", "tool", "protoc-gen-go")
	plugin.Stdin, plugin.Stderr = bytes.NewReader(request), os.Stderr
	out, err := plugin.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("protoc-gen-go: %s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(f.GetName(), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
