package fields

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/schema"
)

type order struct {
	ID    int64           `json:"id"`
	Lines []line          `json:"lines"`
	By    map[string]line `json:"by,omitempty"`
	Pair  [2]line         `json:"pair"`
	At    time.Time       `json:"at"`
	Free  any             `json:"free"`
	Raw   json.RawMessage `json:"raw"`
	Next  *order          `json:"next"`
	None  struct{}        `json:"none"`
	Own   ownForm         `json:"own"`
	Local string          `json:"-"`
	line
}

type line struct {
	Article string `json:"article"`
	Pieces  int32
}

// ownForm says itself what it is in JSON.
type ownForm struct{ A int }

func (ownForm) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }

// described are the fields of the request of a method with requests of a type.
func described(t *testing.T, request reflect.Type) *Fields {
	t.Helper()
	b := schema.NewBuilder()
	b.Add("Shop", schema.Method{Name: "Put", Aliases: []string{"shop.put"}, Kind: schema.Unary, Request: b.Reflect(request, "Request"), Reply: b.Reflect(nil, "Reply")})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	f, kind := in(m, "shop.put")
	if f == nil || kind != schema.Unary {
		t.Fatalf("the method has the fields %v and the kind %q", f, kind)
	}
	return f
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		request reflect.Type
		text    string
		unknown string // the path; "": none
		says    string
	}{
		{reflect.TypeFor[order](), `{"id":1,"lines":[{"article":"a","Pieces":2}],"at":"2006-01-02T15:04:05Z","article":"b"}`, "", ""},
		{reflect.TypeFor[order](), `{"ID":1,"PIECES":2}`, "", ""}, // encoding/json reads them
		{reflect.TypeFor[order](), `{"free":{"x":1},"raw":{"x":1},"own":{"x":1},"lines":null,"next":null}`, "", ""},
		{reflect.TypeFor[order](), `{"lines":{"x":1},"next":[{"x":1}]}`, "", ""}, // the server tells what is wrong
		{reflect.TypeFor[order](), `7`, "", ""},
		{reflect.TypeFor[order](), `{"idd":1}`, "idd", "in the request, which has the fields id, lines, by, pair, at, free, raw, next, none, own, article, Pieces;"},
		{reflect.TypeFor[order](), `{"Local":"x"}`, "Local", "id"},
		{reflect.TypeFor[order](), `{"lines":[{},{"artcile":"a"}]}`, "lines[1].artcile", "where line has the fields article, Pieces;"},
		{reflect.TypeFor[order](), `{"pair":[{"x":1},{}]}`, "pair[0].x", "article"},
		{reflect.TypeFor[order](), `{"by":{"x":{"y":1}}}`, "by.x.y", "article"},
		{reflect.TypeFor[order](), `{"next":{"next":{"idd":1}}}`, "next.next.idd", "where order has the fields id"},
		{reflect.TypeFor[order](), `{"none":{"x":1}}`, "none.x", "where Empty has no fields;"},
		{reflect.TypeFor[struct{ N int }](), `{"M":1}`, "M", "which has only the field N;"},
		{reflect.TypeFor[map[string]int](), `{"x":1}`, "", ""},
		{nil, `{"x":1}`, "", ""},

		// A message of Protocol Buffers is read by the names of protojson and those of the .proto file.
		{reflect.TypeFor[descriptorpb.FieldDescriptorProto](), `{"typeName":"a","type_name":"b"}`, "", ""},
		{reflect.TypeFor[descriptorpb.FieldDescriptorProto](), `{"TypeName":"a"}`, "TypeName", "typeName"},
		{reflect.TypeFor[descriptorpb.FieldDescriptorProto](), `{"options":{"[some.extension]":1}}`, "", ""},
		{reflect.TypeFor[descriptorpb.FileOptions](), `{"x":1}`, "x", "more that 'weft describe' lists"},
	} {
		f := described(t, c.request)
		err := f.Check(json.RawMessage(c.text))
		switch {
		case c.unknown == "" && err != nil, c.unknown != "" && err == nil:
			t.Errorf("%s: %v, want the unknown field %q", c.text, err, c.unknown)
		case err != nil && (!strings.Contains(err.Error(), "unknown field \""+c.unknown+"\"") || !strings.Contains(err.Error(), c.says) || !errors.Is(err, shell.ErrUsage)):
			t.Errorf("%s: %v, want the unknown field %q and %q", c.text, err, c.unknown, c.says)
		}
	}
	if f, _ := in(&schema.Model{}, "Shop.Put"); f != nil || f.Check(json.RawMessage(`{"x":1}`)) != nil {
		t.Error("a method that is not described has fields")
	}
}

// TestProtoFields takes the fields of a message that the reflection of gRPC describes.
func TestProtoFields(t *testing.T) {
	method := grpc_health_v1.File_grpc_health_v1_health_proto.Services().ByName("Health").Methods().ByName("Check")
	f, err := OfMessage("grpc.health.v1.Health.Check", method.Input())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(json.RawMessage(`{"servcie":""}`)); err == nil || !strings.Contains(err.Error(), "only the field service;") {
		t.Errorf("the error is %v", err)
	}
}

// TestPlainFields: on the wire of rpcx a message of Protocol Buffers is a struct for encoding/json, with the names of its .proto file.
func TestPlainFields(t *testing.T) {
	f := described(t, reflect.TypeFor[descriptorpb.MethodDescriptorProto]())
	f.plain = true
	if err := f.Check(json.RawMessage(`{"input_type":"x","options":{"idempotency_level":1}}`)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`{"inputType":"x"}`, `{"options":{"idempotencyLevel":1}}`} {
		if err := f.Check(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
