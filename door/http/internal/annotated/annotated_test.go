package annotated

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestPath translates paths whose fields are those of a MethodDescriptorProto.
func TestPath(t *testing.T) {
	in := new(descriptorpb.MethodDescriptorProto).ProtoReflect().Descriptor()
	for template, want := range map[string]string{
		"/v1/{input_type}": "/v1/{inputType}", "/v1/{name=*}:go": "/v1/{name=*}:go", "/v1/{options.idempotency_level}/{name=**}": "/v1/{options.idempotencyLevel}/{name=**}", "/v1/x": "/v1/x",
		"/v1/{input_type=a/*/b/*}:go": "/v1/{inputType=a/*/b/*}:go",
		"/v1/*":                       "", "/v1/**": "", "/v1/*/{name}": "", "/v1/{name": "", "/v1/{none}": "", "/v1/{name.x}": "", "/v1/{}": "",
	} {
		if got, err := pathOf(in, template); got != want || (err == nil) != (want != "") {
			t.Errorf("%s becomes %q, %v, want %q", template, got, err, want)
		}
	}
}

// TestUnknown: a method that is in no .proto file, and a name of something else, have no addresses.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"", "A.B", "google.protobuf.MethodOptions", "not a name."} {
		if all, wrong := Routes(name); len(all)+len(wrong) > 0 {
			t.Errorf("%q has %v, %v", name, all, wrong)
		}
	}
}

// FuzzRule reads any rule: what is taken is a path with fields.
func FuzzRule(f *testing.F) {
	of := descriptorpb.File_google_protobuf_descriptor_proto
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("rules.proto"), Dependency: []string{of.Path()},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Rules"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: proto.String("M"), InputType: proto.String(".google.protobuf.MethodDescriptorProto"), OutputType: proto.String(".google.protobuf.FileDescriptorProto"),
		}}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		f.Fatal(err)
	}
	m := file.Services().Get(0).Methods().Get(0)
	f.Add([]byte("\x12\x10/v1/{name=a/*/b}\x62\x07package"))
	f.Add([]byte("\x12\x0a/v1/{name}\x3a\x01*"))
	f.Add([]byte("\x1a\x14/v1/{options.x=**}:go\x00"))
	f.Fuzz(func(t *testing.T, rule []byte) {
		r, err := routeOf(m, rule)
		if err != nil {
			return
		}
		if r.Body != "" && !r.TakesBody() {
			t.Errorf("%x has a body for %s", rule, r.Verb)
		}
		if _, err := route.Parse(r.Verb, r.Path); err != nil {
			t.Errorf("%x has the path %s: %v", rule, r.Path, err)
		}
	})
}
