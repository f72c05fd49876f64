// Command generate makes the messages of plugin/protovalidate/shop from their .proto file, with
// protocompile and the protoc-gen-go that go.mod names.
//
//	cd plugin/internal/together && GOWORK=off go run ./generate
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	_ "github.com/weftrpc/weft/plugin/protovalidate" // whose imports have the file with the rules
)

func main() {
	log.SetFlags(0)
	if err := generate("../../..", "plugin/protovalidate/shop/shop.proto"); err != nil {
		log.Fatal(err)
	}
}

func generate(dir, name string) error {
	compiler := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
		&protocompile.SourceResolver{ImportPaths: []string{dir}}, protocompile.ResolverFunc(linked)}}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: proto.String("paths=source_relative"),
		ProtoFile: withImports(nil, files[0], make(map[string]bool)),
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
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// linked finds a file that is part of this program.
func linked(path string) (protocompile.SearchResult, error) {
	d, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return protocompile.SearchResult{Desc: d}, err
}

// withImports appends a file behind those that it imports.
func withImports(all []*descriptorpb.FileDescriptorProto, d protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[d.Path()] {
		return all
	}
	seen[d.Path()] = true
	for i := range d.Imports().Len() {
		all = withImports(all, d.Imports().Get(i).FileDescriptor, seen)
	}
	return append(all, protoutil.ProtoFromFileDescriptor(d))
}
