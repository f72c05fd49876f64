// Command generate writes idl/pb, idl/vt, idl/vt3 and idl/gencode from
// idl/benchmark.proto and idl/math.proto.
//
// Run it through "go generate ./idl" in the bench module. It parses the schema
// with bufbuild/protocompile and hands it to the plug-ins that go.mod pins as
// tools, so the result depends on nothing that is installed on the machine.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// target is one Go package made from the schema.
type target struct {
	folder  string   // below the idl folder, and the Go package's name
	pkg     string   // the protobuf package that replaces "main"
	plugins []plugin // in the order in which they run
	proto3  bool     // the fields have no presence
}

// plugin is one protoc plug-in and the parameter it gets beside the import path.
type plugin struct {
	tool, parameter string
}

const importRoot = "github.com/weftrpc/weft/bench/idl/"

func main() {
	log.SetFlags(0)
	google := plugin{tool: "protoc-gen-go"}
	vt := plugin{tool: "protoc-gen-go-vtproto", parameter: "features=marshal+unmarshal+size"}
	reused := plugin{tool: vt.tool, parameter: "features=marshal+unmarshal+unmarshal_unsafe+size+pool,pool=" + importRoot + "vt3.BenchmarkMessage"}
	targets := []target{
		{folder: "pb", pkg: "main", plugins: []plugin{google}},
		{folder: "vt", pkg: "vt", plugins: []plugin{google, vt}},
		{folder: "vt3", pkg: "vt3", plugins: []plugin{google, reused}, proto3: true},
	}
	ctx := context.Background()
	plain := &gencode{folder: "gencode"}
	for _, schema := range []string{"benchmark.proto", "math.proto"} {
		source, err := os.ReadFile(schema)
		if err != nil {
			log.Fatalf("read the schema (run this through go generate): %v", err)
		}
		for _, t := range targets {
			if t.proto3 && schema != "benchmark.proto" {
				continue // only codecs are measured with it
			}
			if err := t.generate(ctx, schema, source); err != nil {
				log.Fatalf("generate %s from %s: %v", t.folder, schema, err)
			}
		}
		if err := plain.write(ctx, schema, source); err != nil {
			log.Fatalf("generate %s from %s: %v", plain.folder, schema, err)
		}
	}
}

// generate compiles the schema under the target's protobuf package and runs
// every plug-in on it.
func (t target) generate(ctx context.Context, schema string, source []byte) error {
	file, err := t.compile(ctx, schema, source)
	if err != nil {
		return err
	}
	for _, p := range t.plugins {
		if err := t.run(p, file); err != nil {
			return fmt.Errorf("%s: %w", p.tool, err)
		}
	}
	return nil
}

func (t target) compile(ctx context.Context, schema string, source []byte) (*descriptorpb.FileDescriptorProto, error) {
	// The file's name is a registration key too, so it differs per target.
	name := t.folder + "/" + schema
	text := strings.Replace(string(source), "package main;", "package "+t.pkg+";", 1)
	if t.proto3 {
		text = defaults.ReplaceAllString(strings.NewReplacer(`"proto2"`, `"proto3"`, "required ", "", "optional ", "").Replace(text), "")
	}
	compiler := protocompile.Compiler{
		Resolver: &protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{name: text}),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return nil, err
	}
	return protoutil.ProtoFromFileDescriptor(files[0]), nil
}

// defaults are those of fields, which proto3 does not have.
var defaults = regexp.MustCompile(` \[default=[^]]*\]`)

// run hands the file to one plug-in and writes what it answers.
func (t target) run(p plugin, file *descriptorpb.FileDescriptorProto) error {
	parameter := "paths=source_relative,M" + file.GetName() + "=" + importRoot + t.folder
	if p.parameter != "" {
		parameter += "," + p.parameter
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{file.GetName()},
		Parameter:      proto.String(parameter),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", p.tool)
	cmd.Stdin = bytes.NewReader(request)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return fmt.Errorf("read the plug-in's answer: %w", err)
	}
	if response.Error != nil {
		return fmt.Errorf("the plug-in refused the schema: %s", response.GetError())
	}
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return err
	}
	for _, f := range response.File {
		// source_relative names already start with the target's folder.
		if err := os.WriteFile(filepath.FromSlash(f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
