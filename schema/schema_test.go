package schema_test

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/schema"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Tree contains itself.
type Tree struct {
	Left, Right *Tree
	Values      []Tree `json:"values"`
}

// Base is embedded.
type Base struct {
	ID   int `json:"id" doc:"the number"`
	Name string
}

// Level is encoded as a text.
type Level int

// MarshalText implements encoding.TextMarshaler.
func (Level) MarshalText() ([]byte, error) { return nil, nil }

// Free is encoded as anything.
type Free struct{}

// MarshalJSON implements json.Marshaler.
func (Free) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Pair has a parameter.
type Pair[T any] struct{ A, B T }

// All has fields of many types.
type All struct {
	Base
	Free     Free `json:"free"`
	Name     bool `json:"Name"` // hides that of Base
	Hidden   int  `json:"-"`
	private  int
	Text     int64 `json:",string"`
	Small    uint8
	Data     []byte
	Fixed    [3]float32
	Map      map[string]*time.Time
	When     time.Time
	Wait     time.Duration
	Level    Level
	Any      any
	Raw      json.RawMessage
	Number   json.Number
	Big      big.Int
	Inner    struct{ X int }
	Pair     Pair[int]
	PairToo  Pair[string]
	Pointers **int
}

func TestGoTypes(t *testing.T) {
	set := schema.NewSet("#/$defs/")
	_ = All{}.private
	for _, c := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[Tree](), `{"$ref":"#/$defs/schema_test.Tree"}`},
		{reflect.TypeFor[[]bool](), `{"type":["array","null"],"items":{"type":"boolean"}}`},
		{reflect.TypeFor[*string](), `{"type":["string","null"]}`},
		{reflect.TypeFor[error](), `{}`},
		{reflect.TypeFor[All](), `{"$ref":"#/$defs/schema_test.All"}`},
		{nil, `{}`},
	} {
		got, err := json.Marshal(set.Of(c.t))
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %s, %v, want %s", c.t, got, err, c.want)
		}
	}
	for name, want := range map[string]string{
		"schema_test.Tree": `{"type":"object","properties":{` +
			`"Left":{"anyOf":[{"$ref":"#/$defs/schema_test.Tree"},{"type":"null"}]},` +
			`"Right":{"anyOf":[{"$ref":"#/$defs/schema_test.Tree"},{"type":"null"}]},` +
			`"values":{"type":["array","null"],"items":{"$ref":"#/$defs/schema_test.Tree"}}}}`,
		"schema_test.All": `{"type":"object","properties":{` +
			`"Any":{},"Big":{"type":"integer"},"Data":{"type":["string","null"],"contentEncoding":"base64"},` +
			`"Fixed":{"type":"array","minItems":3,"maxItems":3,"items":{"type":"number","format":"float"}},` +
			`"Inner":{"$ref":"#/$defs/schema_test.All_Inner"},` +
			`"Level":{"type":"string"},"Map":{"type":["object","null"],"additionalProperties":{"type":["string","null"],"format":"date-time"}},` +
			`"Name":{"type":"boolean"},"Number":{"type":"number"},` +
			`"Pair":{"$ref":"#/$defs/schema_test.Pair_int"},"PairToo":{"$ref":"#/$defs/schema_test.Pair_string"},` +
			`"Pointers":{"type":["integer","null"],"format":"int64"},"Raw":{},` +
			`"Small":{"type":"integer","minimum":0},"Text":{"type":"string"},` +
			`"Wait":{"type":"integer","format":"int64","description":"a duration in nanoseconds"},"When":{"type":"string","format":"date-time"},` +
			`"free":{},"id":{"type":"integer","format":"int64","description":"the number"}}}`,
	} {
		got, err := json.Marshal(set.Definitions()[name])
		if err != nil || string(got) != want {
			t.Errorf("%s:\n%s\n%v, want\n%s", name, got, err, want)
		}
	}
	if order := strings.Join(set.Definitions()["schema_test.Tree"].Order, " "); order != "Left Right values" {
		t.Errorf("order %s", order)
	}
}

func TestMessages(t *testing.T) {
	set := schema.NewSet("#/$defs/")
	for _, c := range []struct {
		t    reflect.Type
		want string
	}{
		{reflect.TypeFor[timestamppb.Timestamp](), `{"type":"string","format":"date-time"}`},
		{reflect.TypeFor[*durationpb.Duration](), `{"type":["string","null"],"description":"a duration in seconds, such as 1.5s"}`},
		{reflect.TypeFor[wrapperspb.UInt64Value](), `{"type":["string","null"],"format":"uint64"}`},
		{reflect.TypeFor[structpb.Struct](), `{"type":"object","additionalProperties":{}}`},
		{reflect.TypeFor[typepb.Field](), `{"$ref":"#/$defs/google.protobuf.Field"}`},
	} {
		got, err := json.Marshal(set.Of(c.t))
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %s, %v, want %s", c.t, got, err, c.want)
		}
	}
	got, err := json.Marshal(set.Definitions()["google.protobuf.Field"])
	if err != nil || !strings.Contains(string(got), `"typeUrl":{"type":"string"}`) || !strings.Contains(string(got), `"kind":{"$ref":"#/$defs/google.protobuf.Field.Kind"}`) ||
		!strings.Contains(string(got), `"options":{"type":"array","items":{"$ref":"#/$defs/google.protobuf.Option"}}`) {
		t.Errorf("%s, %v", got, err)
	}
	if r := set.Resolve(set.Of(reflect.TypeFor[*typepb.Field]())); len(r.Order) != 10 || r.Order[0] != "kind" {
		t.Errorf("%v", r.Order)
	}
}

// TestNamesThatCollide gives two types of one name two definitions.
func TestNamesThatCollide(t *testing.T) {
	type Base struct{ Other int }
	set := schema.NewSet("#/")
	a, b := set.Of(reflect.TypeFor[Base]()), set.Of(reflect.TypeFor[All]())
	if a.Ref == b.Ref || len(set.Definitions()) < 2 || set.Of(reflect.TypeFor[Base]()).Ref != a.Ref {
		t.Errorf("%s %s", a.Ref, b.Ref)
	}
}
