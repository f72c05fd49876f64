package generate

import (
	"os"
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

func TestPlugin(t *testing.T) {
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"depot.proto"}, Parameter: proto.String("paths=source_relative")}
	for _, d := range compile(t) {
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(d))
	}
	gen, err := protogen.Options{}.New(request)
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
