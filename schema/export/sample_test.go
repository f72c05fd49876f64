package export_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weftrpc/weft/schema"
)

type (
	// Order has fields of all kinds that every wire has.
	Order struct {
		Base
		ID       int64              `json:"id" doc:"the number, as printed on the bill\nIt never changes. */ # //"`
		Lines    []*Line            `json:"lines"`
		By       map[string]Line    `json:"by,omitempty"`
		Counts   map[int32]uint64   `json:"counts"`
		At       time.Time          `json:"at"`
		Took     time.Duration      `json:"took"`
		Limit    *uint32            `json:"limit"`
		Name     *string            `json:"name,omitempty"`
		Blob     []byte             `json:"blob"`
		Ratio    float32            `json:"ratio"`
		Exact    float64            `json:"exact"`
		Small    int8               `json:"small"`
		Byte     uint8              `json:"byte"`
		Flag     bool               `json:"flag,string"`
		Level    Level              `json:"level"`
		Odd      string             `json:"sizes-of-it"`
		Next     *Order             `json:"next"`
		None     struct{}           `json:"none"`
		Place    struct{ X, Y int } `json:"place"`
		Page     Page[Line]         `json:"page"`
		Any      any                `json:"any"`
		Fields   map[string]any     `json:"fields"`
		Grid     [2]float32         `json:"grid"`
		Code     [4]byte            `json:"code"`
		Price    *Price             `json:"price"`
		Addr     netip.Addr         `json:"addr"`
		Whole    *big.Int           `json:"whole"`
		Hidden   int                `json:"-"`
		NotProto []int              `json:"not_proto" weft:"-"`
	}
	// Price travels as bytes in Protocol Buffers and in MessagePack.
	Price struct {
		Cents int `json:"cents"`
	}
	// Base is embedded.
	Base struct {
		Tenant string `json:"tenant" msgpack:"t"`
	}
	// Line is a line of an order.
	Line struct {
		Article string  `weft:"1" json:"article"`
		Pieces  int32   `weft:"2,zigzag" json:"pieces"`
		Price   uint64  `weft:"5,fixed" json:"price"`
		Off     []int64 `weft:"6,zigzag" json:"off"`
	}
	// Page has a parameter.
	Page[T any] struct {
		Items []T `json:"items"`
	}
	// Level is a text in JSON and a number elsewhere.
	Level int
	// Loose has fields that Protocol Buffers do not have.
	Loose struct {
		Any     any               `json:"any"`
		Raw     json.RawMessage   `json:"raw"`
		Number  json.Number       `json:"number"`
		Big     *big.Int          `json:"big"`
		Fixed   [3]float32        `json:"fixed"`
		Nested  [][]string        `json:"nested"`
		Bytes   []Small           `json:"bytes"`
		Deep    map[string][]Line `json:"deep"`
		Keys    map[float64]bool  `json:"keys"`
		Pointer **int             `json:"pointer"`
	}
	// Small is a byte.
	Small uint8
	// None is a keyword of Python.
	None struct {
		Class  string `json:"class"`
		Import *None  `json:"import"`
		Int    int    `json:"int"`
		List   []int  `json:"list"`
		Line   Line   `json:"Line"`
		Self   int    `json:"__self"`
		String string `json:"string"`
	}
	// message begins a statement of .proto files.
	message struct {
		Message string `json:"message"`
		Option  int    `json:"option"`
		Promise int    `json:"Promise"`
		Fooбар  int    `json:"фу"`
	}
	// Arith has the name of the service.
	Arith struct {
		A int `json:"a"`
	}
)

// MarshalText implements encoding.TextMarshaler.
func (Level) MarshalText() ([]byte, error) { return []byte("high"), nil }

// MarshalWeft implements codec.Marshaler.
func (Price) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }

// UnmarshalWeft implements codec.Unmarshaler.
func (*Price) UnmarshalWeft([]byte) error { return nil }

// stock is a file as protoc would describe it.
const stock = `
name: "shop/v1/shop.proto" package: "shop.v1" syntax: "proto3"
dependency: "google/protobuf/timestamp.proto" dependency: "google/protobuf/struct.proto"
message_type {
  name: "Order"
  field { name: "order_id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "color" number: 2 type: TYPE_ENUM type_name: ".shop.v1.Color" label: LABEL_OPTIONAL }
  field { name: "lines" number: 3 type: TYPE_MESSAGE type_name: ".shop.v1.Order.Line" label: LABEL_REPEATED }
  field { name: "by_name" number: 4 type: TYPE_MESSAGE type_name: ".shop.v1.Order.ByNameEntry" label: LABEL_REPEATED }
  field { name: "card" number: 5 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "cash" number: 6 type: TYPE_BOOL label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "at" number: 7 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "more" number: 8 type: TYPE_MESSAGE type_name: ".google.protobuf.Struct" label: LABEL_OPTIONAL }
  field { name: "blob" number: 9 type: TYPE_BYTES label: LABEL_OPTIONAL oneof_index: 1 proto3_optional: true }
  field { name: "state" number: 10 type: TYPE_ENUM type_name: ".shop.v1.Order.State" label: LABEL_REPEATED }
  field { name: "sum" number: 11 type: TYPE_SFIXED64 label: LABEL_OPTIONAL }
  oneof_decl { name: "payment" }
  oneof_decl { name: "_blob" }
  nested_type { name: "Line" field { name: "article" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "order" number: 2 type: TYPE_MESSAGE type_name: ".shop.v1.Order" label: LABEL_OPTIONAL } }
  nested_type { name: "ByNameEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".shop.v1.Order.Line" label: LABEL_OPTIONAL } }
  enum_type { name: "State" value { name: "OPEN" number: 0 } value { name: "SHUT" number: 1 } reserved_range { start: 2 end: 4 } reserved_name: "LOST" }
  reserved_range { start: 20 end: 536870912 } reserved_range { start: 12 end: 13 } reserved_name: "old" reserved_name: "older"
}
enum_type { name: "Color" value { name: "COLOR_UNSPECIFIED" number: 0 } value { name: "RED" number: 1 } value { name: "CRIMSON" number: 1 } options { allow_alias: true } }
service {
  name: "Orders"
  method { name: "Get" input_type: ".shop.v1.Order.Line" output_type: ".shop.v1.Order" options { idempotency_level: IDEMPOTENT } }
  method { name: "Watch" input_type: ".shop.v1.Order" output_type: ".shop.v1.Order" client_streaming: true server_streaming: true }
}`

// stockService is the service of that file.
func stockService(t *testing.T) protoreflect.ServiceDescriptor {
	t.Helper()
	var file descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(stock), &file); err != nil {
		t.Fatal(err)
	}
	known := new(protoregistry.Files)
	for _, f := range []protoreflect.FileDescriptor{timestamppb.File_google_protobuf_timestamp_proto, structpb.File_google_protobuf_struct_proto} {
		if err := known.RegisterFile(f); err != nil {
			t.Fatal(err)
		}
	}
	d, err := protodesc.NewFile(&file, known)
	if err != nil {
		t.Fatal(err)
	}
	return d.Services().Get(0)
}

// sample is a model with everything.
func sample(t *testing.T) *schema.Model {
	t.Helper()
	b := schema.NewBuilder()
	add := func(service, name, kind string, request, reply reflect.Type) {
		b.Add(service, schema.Method{Name: name, Kind: kind, Doc: name + " does it.\n\nOnce. */", Idempotent: kind == schema.Unary,
			Request: b.Reflect(request, service+"_"+name+"_Request"), Reply: b.Reflect(reply, service+"_"+name+"_Reply")})
	}
	b.Describe("Arith", "Arith has methods of all kinds.")
	add("Arith", "Put", schema.Unary, reflect.TypeFor[Order](), reflect.TypeFor[Arith]())
	add("Arith", "Line", schema.ServerStream, reflect.TypeFor[Line](), reflect.TypeFor[None]())
	add("Arith", "None", schema.ClientStream, reflect.TypeFor[message](), reflect.TypeFor[struct{ Sum int }]())
	add("Arith", "Both", schema.BidiStream, reflect.TypeFor[struct{}](), reflect.TypeFor[Order]())
	add("Arith", "Loose", schema.Unary, reflect.TypeFor[Loose](), reflect.TypeFor[int]())
	add("Arith", "Raw", schema.Unary, reflect.TypeFor[[]byte](), reflect.TypeFor[[]Line]())
	b.AddDescriptor(stockService(t))
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
