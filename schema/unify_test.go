package schema

import (
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// elsewhere is a type in another package.
type elsewhere struct {
	GoType
	path string
}

func (e elsewhere) Facts() Facts {
	f := e.GoType.Facts()
	f.Package, f.ID = e.path, e.path+f.Name
	return f
}

// TestPackagesOfOneName gives types of one name in packages of one name names that do not depend on which comes first.
func TestPackagesOfOneName(t *testing.T) {
	type line struct{ A int }
	paths := []string{"example.org/a/shop", "example.org/b/shop/v2", "example.org/depot"}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		b := NewBuilder()
		for _, i := range order {
			b.Add("S", Method{Name: fmt.Sprint("M", i), Kind: Unary, Request: b.Go(elsewhere{reflected{reflect.TypeFor[line]()}, paths[i]}, ""), Reply: &Type{Kind: KindBool}})
		}
		m, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range m.Messages {
			names = append(names, one.Name)
		}
		if got := fmt.Sprint(names); got != "[a_shop.line b_shop.line depot.line]" {
			t.Error(got)
		}
		for i, one := range m.Services[0].Methods {
			if got := m.Message(one.Request.Name); got == nil || got.Go != paths[i]+".line" {
				t.Errorf("%s has the request %s", one.Name, one.Request.Name)
			}
		}
	}
}

// TestNamesOfFiles has Go types with the names of a message and of an enumeration of a .proto file: the latter keep their names,
// whatever comes first, and the Go types get others.
func TestNamesOfFiles(t *testing.T) {
	type line struct{ A int }
	type state struct{ B int }
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("shop.proto"), Package: proto.String("shop"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("line"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("now"), JsonName: proto.String("now"), Number: proto.Int32(1), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type: descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), TypeName: proto.String(".shop.state"),
		}}}},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("state"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("OPEN"), Number: proto.Int32(0)}}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"file", "line", "state"} {
		b := NewBuilder()
		add := func(name string) {
			request := &Type{}
			switch name {
			case "file":
				request = b.Descriptor(file.Messages().Get(0))
			case "line":
				request = b.Go(elsewhere{reflected{reflect.TypeFor[line]()}, "example.org/shop"}, "")
			case "state":
				request = b.Go(elsewhere{reflected{reflect.TypeFor[state]()}, "example.org/shop"}, "")
			}
			b.Add("S", Method{Name: name, Kind: Unary, Request: request, Reply: &Type{Kind: KindBool}})
		}
		add(first)
		for _, name := range []string{"line", "state", "file"} {
			if name != first {
				add(name)
			}
		}
		m, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for _, one := range m.Services[0].Methods {
			got[one.Name] = one.Request.Name
			if message := m.Message(one.Request.Name); message == nil || message.Stock() != (one.Name == "file") {
				t.Errorf("%s first: the request of %s is %s, which is %v", first, one.Name, one.Request.Name, message)
			}
		}
		if want := (map[string]string{"file": "shop.line", "line": "shop.line_2", "state": "shop.state_2"}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s first: the requests are %v, want %v", first, got, want)
		}
		if e := m.Enum("shop.state"); e == nil || m.Message("shop.line").Fields[0].Type.Name != "shop.state" {
			t.Errorf("%s first: the enumerations are %v", first, m.Enums)
		}
	}
}
