package generate

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// compile reads the .proto file of the depot, whose imports come first.
func compile(t *testing.T) []protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"internal/depot"}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(t.Context(), "google/protobuf/timestamp.proto", "google/protobuf/duration.proto", "google/protobuf/struct.proto", "depot.proto")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]protoreflect.FileDescriptor, len(files))
	for i, f := range files {
		all[i] = f
	}
	return all
}

// requested is what protoc asks its plugins for the depot.
func requested(t *testing.T) *pluginpb.CodeGeneratorRequest {
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"depot.proto"}, Parameter: proto.String("paths=source_relative")}
	for _, d := range compile(t) {
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(d))
	}
	return request
}

// TestPluginBuilds runs protoc-gen-go and protoc-gen-weft as protoc does, by their standard input and output, and has go vet look at what both
// have written.
func TestPluginBuilds(t *testing.T) {
	request, err := proto.Marshal(requested(t))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, plugin := range []string{"google.golang.org/protobuf/cmd/protoc-gen-go", "./cmd/protoc-gen-weft"} {
		var failed strings.Builder
		run := exec.CommandContext(t.Context(), "go", "run", plugin)
		run.Stdin, run.Stderr = bytes.NewReader(request), &failed
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", plugin, err, &failed)
		}
		var response pluginpb.CodeGeneratorResponse
		if err := proto.Unmarshal(out, &response); err != nil || response.Error != nil || len(response.File) != 1 {
			t.Fatalf("%s: %v, %v", plugin, err, &response)
		}
		files["depot/"+response.File[0].GetName()] = response.File[0].GetContent()
	}
	if len(files) != 2 || files["depot/depot_weft.go"] == "" {
		t.Fatalf("%d files, among them none for weft", len(files))
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir = module(t, files)
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

func TestPlugin(t *testing.T) {
	gen, err := protogen.Options{}.New(requested(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Plugin(gen); err != nil {
		t.Fatal(err)
	}
	out := gen.Response()
	if out.Error != nil || len(out.File) != 1 || out.File[0].GetName() != "depot_weft.go" {
		t.Fatalf("%v", out)
	}
	text := out.File[0].GetContent()
	for _, want := range []string{
		"package depot\n", "func NewDepotClient(", "func RegisterDepot(", `"depot.v1.Depot.Get", s.Get, weft.Idempotent(), weft.Doc("Get finds a parcel.")`,
		"iter.Seq2[*Parcel, error]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "type Parcel struct") {
		t.Error("the messages of protoc-gen-go are declared again")
	}
	// Besides the messages, it is what the command makes.
	whole, err := os.ReadFile("internal/depot/depot_weft.go")
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(text, "// DepotClient calls")
	if from < 0 || !strings.Contains(string(whole), strings.TrimSpace(text[from:])) {
		t.Error("the stubs differ from those of the command")
	}
}

// A message of another file of the same request may be of another Go package.
func TestPluginImports(t *testing.T) {
	file := func(name, pkg string, message string, deps ...string) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{
			Name: &name, Package: &pkg, Syntax: proto.String("proto3"), Dependency: deps,
			Options:     &descriptorpb.FileOptions{GoPackage: proto.String("example.com/" + pkg)},
			MessageType: []*descriptorpb.DescriptorProto{{Name: &message}},
		}
	}
	b := file("b.proto", "b", "Mine", "a.proto")
	b.Service = []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("S"), Method: []*descriptorpb.MethodDescriptorProto{{
		Name: proto.String("do_it"), InputType: proto.String(".a.Theirs"), OutputType: proto.String(".b.Mine"), ServerStreaming: proto.Bool(true),
	}}}}
	gen, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"b.proto"}, ProtoFile: []*descriptorpb.FileDescriptorProto{file("a.proto", "a", "Theirs"), b}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Plugin(gen); err != nil {
		t.Fatal(err)
	}
	text := gen.Response().File[0].GetContent()
	for _, want := range []string{`"example.com/a"`, "DoIt(ctx context.Context, req *a.Theirs) iter.Seq2[*Mine, error]", `"b.S.do_it"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
