package compare_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/compare"
)

// of is the model of a method whose request is a type of Go.
func of[T any](t *testing.T) *schema.Model {
	t.Helper()
	b := schema.NewBuilder()
	b.Add("S", schema.Method{Name: "M", Kind: schema.Unary, Request: b.Reflect(reflect.TypeFor[T](), "T"), Reply: &schema.Type{Kind: schema.KindBool}})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// text is the changes in short.
func text(all []compare.Change) string {
	var lines []string
	for _, c := range all {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Rule, c.At, strings.Join(c.Wires, ","))))
		if _, ok := compare.Rules()[c.Rule]; !ok || c.Text == "" || (c.Category == compare.CategoryWire) != (len(c.Wires) > 0) {
			lines = append(lines, fmt.Sprintf("a wrong change: %+v", c))
		}
	}
	return strings.Join(lines, "; ")
}

// TestFields changes one field.
func TestFields(t *testing.T) {
	type (
		line  struct{ A int }
		wider struct{ A int }
	)
	const at = "main.T"
	for _, c := range []struct {
		name, want    string
		before, after *schema.Model
	}{
		{"nothing", "", of[struct{ A int }](t), of[struct{ A int }](t)},
		{"added", "FIELD_ADDED main.T.B", of[struct{ A int }](t), of[struct{ A, B int }](t)},
		{"removed", "FIELD_REMOVED main.T.B json,messagepack,protobuf", of[struct{ A, B int }](t), of[struct{ A int }](t)},
		{"reordered", "", of[struct{ A, B int }](t), of[struct{ B, A int }](t)},
		{"renamed in JSON", "FIELD_RENAMED main.T.a json,protobuf", of[struct {
			A int `json:"a"`
		}](t), of[struct {
			A int `json:"b"`
		}](t)},
		{"renamed in Go", "FIELD_RENAMED main.T.a messagepack", of[struct {
			A int `json:"a"`
		}](t), of[struct {
			B int `json:"a"`
		}](t)},
		{"renamed with numbers", "FIELD_RENAMED main.T.A json,messagepack", of[struct {
			A int `weft:"1"`
		}](t), of[struct {
			B int `weft:"1"`
		}](t)},
		{"renumbered", "FIELD_NUMBER_CHANGED main.T.A protobuf", of[struct {
			A int `weft:"1"`
		}](t), of[struct {
			A int `weft:"2"`
		}](t)},
		{"numbered", "FIELD_NUMBER_CHANGED main.T.A protobuf", of[struct{ A int }](t), of[struct {
			A int `weft:"2"`
		}](t)},
		{"number of another", "FIELD_REMOVED main.T.A json,messagepack,protobuf; FIELD_NUMBER_REUSED main.T.B protobuf", of[struct {
			A int `weft:"1"`
		}](t), of[struct {
			B string `weft:"1"`
		}](t)},
		{"kept from JSON", "FIELD_REMOVED main.T.A json,protobuf", of[struct{ A, B int }](t), of[struct {
			A int `json:"-"`
			B int
		}](t)},
		{"kept from all", "MESSAGE_JSON_REMOVED main.T json; FIELD_REMOVED main.T.A json,messagepack,protobuf", of[struct{ A, B int }](t), of[struct {
			A int `weft:"-"`
			B int
		}](t)},
		{"told to JSON", "MESSAGE_JSON_ADDED main.T", of[struct {
			A int `weft:"-"`
			B int
		}](t), of[struct {
			A int `weft:"-" json:"-"`
			B int
		}](t)},
		{"kept within", "MESSAGE_JSON_REMOVED main.T json; MESSAGE_JSON_REMOVED main.T_A json; FIELD_REMOVED main.T_A.B json,messagepack,protobuf", of[struct{ A struct{ B, C int } }](t), of[struct {
			A struct {
				B int `weft:"-"`
				C int
			}
		}](t)},
		{"one name twice", "MESSAGE_MESSAGEPACK_REMOVED main.T messagepack", of[struct {
			A int `weft:"1"`
			B int `weft:"2"`
		}](t), of[struct {
			A int `weft:"1" msgpack:"a"`
			B int `weft:"2" msgpack:"a"`
		}](t)},
		{"one name once", "MESSAGE_MESSAGEPACK_ADDED main.T", of[struct {
			A int `weft:"1" msgpack:"a"`
			B int `weft:"2" msgpack:"a"`
		}](t), of[struct {
			A int `weft:"1"`
			B int `weft:"2"`
		}](t)},
		{"kept from Protocol Buffers", "FIELD_REMOVED main.T.A protobuf", of[struct{ A, B int }](t), of[struct {
			A int `weft:"-" json:"A" msgpack:"A"`
			B int
		}](t)},
		{"without Protocol Buffers", "MESSAGE_PROTOBUF_REMOVED main.T protobuf; FIELD_TYPE_CHANGED main.T.A json,messagepack", of[struct{ A int }](t), of[struct{ A error }](t)},
		{"with Protocol Buffers", "MESSAGE_PROTOBUF_ADDED main.T; FIELD_TYPE_CHANGED main.T.A json,messagepack", of[struct{ A error }](t), of[struct{ A int }](t)},
		{"wider", "FIELD_TYPE_WIDENED main.T.A", of[struct{ A int32 }](t), of[struct{ A int64 }](t)},
		{"wider elements", "FIELD_TYPE_WIDENED main.T.A", of[struct{ A []uint8or }](t), of[struct{ A []uint64 }](t)},
		{"unsigned to signed", "FIELD_TYPE_WIDENED main.T.A", of[struct{ A uint32 }](t), of[struct{ A int64 }](t)},
		{"narrower", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A int64 }](t), of[struct{ A int32 }](t)},
		{"signed to unsigned", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A int32 }](t), of[struct{ A uint32 }](t)},
		{"float to double", "FIELD_TYPE_CHANGED main.T.A protobuf", of[struct{ A float32 }](t), of[struct{ A float64 }](t)},
		{"text to bytes", "FIELD_TYPE_CHANGED main.T.A json", of[struct{ A string }](t), of[struct{ A []byte }](t)},
		{"bytes to text", "FIELD_TYPE_CHANGED main.T.A json,protobuf", of[struct{ A []byte }](t), of[struct{ A string }](t)},
		{"lists of bytes to text", "FIELD_TYPE_CHANGED main.T.A json,protobuf", of[struct{ A [][]byte }](t), of[struct{ A []string }](t)},
		{"text to a number", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A string }](t), of[struct{ A int }](t)},
		{"duration to integer", "FIELD_TYPE_CHANGED main.T.A protobuf", of[struct{ A time.Duration }](t), of[struct{ A int64 }](t)},
		{"encoding", "FIELD_TYPE_CHANGED main.T.A protobuf", of[struct {
			A int `weft:"1"`
		}](t), of[struct {
			A int `weft:"1,zigzag"`
		}](t)},
		{"text in JSON", "FIELD_TYPE_CHANGED main.T.A json", of[struct{ A int }](t), of[struct {
			A int `json:",string"`
		}](t)},
		{"single to list", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A int }](t), of[struct{ A []int }](t)},
		{"length of an array", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A [2]int }](t), of[struct{ A [3]int }](t)},
		{"keys of a map", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A map[string]int }](t), of[struct{ A map[int]int }](t)},
		{"optional", "FIELD_PRESENCE_CHANGED main.T.A", of[struct{ A int }](t), of[struct{ A *int }](t)},
		{"omitted", "FIELD_PRESENCE_CHANGED main.T.A", of[struct{ A int }](t), of[struct {
			A int `json:",omitempty"`
		}](t)},
		{"message to integer", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A line }](t), of[struct{ A int }](t)},
		{"message renamed", "MESSAGE_RENAMED compare_test.line", of[struct{ A line }](t), of[struct{ A wider }](t)},
		{"within a map", "FIELD_REMOVED main.T_A.B json,messagepack,protobuf", of[struct{ A map[string]struct{ B, C int } }](t), of[struct{ A map[string]struct{ C int } }](t)},
		{"a list with methods", "FIELD_TYPE_CHANGED main.T.A messagepack,protobuf", of[struct{ A []string }](t), of[struct{ A codes }](t)},
		{"a list without methods", "FIELD_TYPE_CHANGED main.T.A messagepack,protobuf", of[struct{ A codes }](t), of[struct{ A []string }](t)},
		{"a number with methods", "FIELD_TYPE_CHANGED main.T.A messagepack,protobuf", of[struct{ A int }](t), of[struct{ A price }](t)},
		{"a map with a text", "FIELD_TYPE_CHANGED main.T.A json", of[struct{ A map[string]int }](t), of[struct{ A labels }](t)},
		{"a list of lists", "FIELD_TYPE_CHANGED main.T.A json,messagepack", of[struct{ A [][]int }](t), of[struct{ A [][]string }](t)},
		{"bytes to an array", "FIELD_TYPE_CHANGED main.T.A json,messagepack,protobuf", of[struct{ A []byte }](t), of[struct{ A [3]byte }](t)},
		{"a message whose JSON is a text", "REQUEST_TYPE_CHANGED S.M json,protobuf", known(t, "StringValue"), known(t, "Struct")},
		{"the request", "REQUEST_TYPE_CHANGED S.M json,messagepack,protobuf", of[int](t), of[string](t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compare.Models(c.before, c.after)
			if short := text(got); short != c.want {
				t.Errorf("%s\nwant %s", short, c.want)
			}
			for _, one := range got {
				if strings.HasPrefix(one.At, at) && one.Via != "the request of S.M" {
					t.Errorf("%+v", one)
				}
			}
		})
	}
}

// TestRenameAdvice names the tags that all broken wires need, and the option of a .proto file.
func TestRenameAdvice(t *testing.T) {
	proto := func(name string) *schema.Model {
		return model(t, `"messages":[{"name":"a.M","file":"a.proto","fields":[{"name":"`+name+`","proto":"`+name+`","number":1,"type":{"kind":"bool"}}]}],
			"services":[{"name":"S","methods":[{"name":"M","kind":"unary","request":{"kind":"message","name":"a.M"},"reply":{"kind":"any"}}]}]`)
	}
	a := of[struct {
		A int `weft:"1"`
	}](t)
	for want, pair := range map[string][2]*schema.Model{
		`keep the name with the tag json:"A" msgpack:"A"`: {a, of[struct {
			B int `weft:"1"`
		}](t)},
		`keep the name with the tag json:"A"`: {a, of[struct {
			A int `weft:"1" json:"B"`
		}](t)},
		`keep the name with the tag msgpack:"A"`: {a, of[struct {
			B int `weft:"1" json:"A"`
		}](t)},
		`keep the name with the option json_name = "x" in the .proto file`: {proto("x"), proto("y")},
	} {
		got := compare.Models(pair[0], pair[1])
		if len(got) != 1 || got[0].Rule != compare.FieldRenamed || !strings.HasSuffix(got[0].Advice, want) {
			t.Errorf("%+v, want the advice %s", got, want)
		}
	}
}

// uint8or is a byte that is encoded as a number.
type uint8or uint16

// codes travel as bytes, but in JSON.
type codes []string

func (codes) MarshalBinary() ([]byte, error)  { return nil, nil }
func (*codes) UnmarshalBinary(b []byte) error { return nil }

// price is one.
type price int

func (price) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (*price) UnmarshalWeft(b []byte) error          { return nil }

// labels are a text in JSON alone.
type labels map[string]int

func (labels) MarshalText() ([]byte, error)  { return nil, nil }
func (*labels) UnmarshalText(b []byte) error { return nil }

// known is the model of a method whose request is a message that all implementations have.
func known(t *testing.T, name string) *schema.Model {
	t.Helper()
	return model(t, `"services":[{"name":"S","methods":[{"name":"M","kind":"unary","request":{"kind":"message","name":"google.protobuf.`+name+`"},"reply":{"kind":"bool"}}]}]`)
}

// model decodes a model.
func model(t *testing.T, text string) *schema.Model {
	t.Helper()
	m, err := schema.Decode([]byte(`{"weft_schema":1,` + text + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMethods(t *testing.T) {
	const types = `"kind":"unary","request":{"kind":"any"},"reply":{"kind":"any"}`
	service := func(name, methods string) string {
		return `"services":[{"name":"` + name + `","methods":[` + methods + `]}]`
	}
	base := model(t, service("A", `{"name":"X",`+types+`},{"name":"Y","idempotent":true,`+types+`}`))
	for text2, want := range map[string]string{
		service("A", `{"name":"X",`+types+`},{"name":"Y","idempotent":true,`+types+`},{"name":"Z",`+types+`}`): "METHOD_ADDED A.Z",
		service("A", `{"name":"X",`+types+`}`):                                                                                                        "METHOD_REMOVED A.Y json,messagepack,protobuf",
		service("A", `{"name":"X","idempotent":true,`+types+`},{"name":"Y",`+types+`}`):                                                               "IDEMPOTENT_ADDED A.X; IDEMPOTENT_REMOVED A.Y json,messagepack,protobuf",
		service("B", `{"name":"X",`+types+`}`):                                                                                                        "SERVICE_REMOVED A json,messagepack,protobuf; SERVICE_ADDED B",
		service("B", `{"name":"X","aliases":["A.X"],`+types+`},{"name":"Y","aliases":["A.Y"],"idempotent":true,`+types+`}`):                           "SERVICE_ADDED B",
		service("A", `{"name":"X","kind":"server stream","request":{"kind":"any"},"reply":{"kind":"int8"}},{"name":"Y","idempotent":true,`+types+`}`): "STREAM_CHANGED A.X json,messagepack,protobuf; REPLY_TYPE_CHANGED A.X json,messagepack,protobuf",
	} {
		if got := text(compare.Models(base, model(t, text2))); got != want {
			t.Errorf("%s\n%s\nwant %s", text2, got, want)
		}
	}
}

func TestEnumsAndOneofs(t *testing.T) {
	with := func(fields, values string) *schema.Model {
		return model(t, `"services":[{"name":"A","methods":[{"name":"X","kind":"unary","request":{"kind":"message","name":"a.M"},"reply":{"kind":"any"}}]}],
			"messages":[{"name":"a.M","package":"a","file":"a.proto","fields":[`+fields+`]}],"enums":[{"name":"a.E","package":"a","values":[`+values+`]}]`)
	}
	const e = `{"name":"e","proto":"e","number":1,"type":{"kind":"enum","name":"a.E"}}`
	const values = `{"name":"A","number":0},{"name":"B","number":1}`
	base := with(e, values)
	for want, now := range map[string]*schema.Model{
		"":                                       with(e, values),
		"ENUM_VALUE_ADDED a.E.C":                 with(e, values+`,{"name":"C","number":2}`),
		"ENUM_VALUE_REMOVED a.E.B json,protobuf": with(e, `{"name":"A","number":0}`),
		"ENUM_VALUE_RENAMED a.E.B json":          with(e, `{"name":"A","number":0},{"name":"C","number":1}`),
		"ENUM_VALUE_NUMBER_CHANGED a.E.B protobuf": with(e, `{"name":"A","number":0},{"name":"B","number":2}`),
		"FIELD_ONEOF_CHANGED a.M.e json,protobuf":  with(strings.Replace(e, `"number"`, `"oneof":"o","number"`, 1), values),
		"FIELD_TYPE_CHANGED a.M.e json":            with(`{"name":"e","proto":"e","number":1,"type":{"kind":"int32"}}`, values),
		"FIELD_RENAMED a.M.e json":                 with(strings.Replace(e, `"name":"e"`, `"name":"f"`, 1), values),
	} {
		if got := text(compare.Models(base, now)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTypesOfFiles changes the type of a field of a .proto file, whose JSON is that of protojson.
func TestTypesOfFiles(t *testing.T) {
	with := func(origin, kind string) *schema.Model {
		return model(t, `"messages":[{"name":"a.M",`+origin+`,"fields":[{"name":"a","proto":"a","number":1,"type":`+kind+`}]}],
			"services":[{"name":"S","methods":[{"name":"M","kind":"unary","request":{"kind":"message","name":"a.M"},"reply":{"kind":"any"}}]}]`)
	}
	scalar := func(kind string) string { return `{"kind":"` + kind + `"}` }
	list := func(kind string) string { return `{"kind":"list","elem":` + scalar(kind) + `}` }
	byKey := func(kind string) string {
		return `{"kind":"map","key":` + scalar(kind) + `,"elem":` + scalar("bool") + `}`
	}
	const file, code, text, number = `"file":"a.proto"`, `"go":"a.M"`, " (a string in JSON)", " (a number in JSON)"
	for _, c := range []struct {
		old, now, want, text string // want is the rule and the wires
		origin               string // of the message now; a file unless it is given
	}{
		{old: scalar("bytes"), now: scalar("string"), want: "FIELD_TYPE_CHANGED json,protobuf", text: "bytes and is string"},
		{old: scalar("string"), now: scalar("bytes"), want: "FIELD_TYPE_CHANGED json", text: "string and is bytes"},
		{old: scalar("int32"), now: scalar("int64"), want: "FIELD_TYPE_CHANGED json", text: "int32" + number + " and is int64" + text},
		{old: scalar("uint32"), now: scalar("uint64"), want: "FIELD_TYPE_CHANGED json", text: "uint32" + number + " and is uint64" + text},
		{old: `{"kind":"int32","proto":"zigzag"}`, now: `{"kind":"int64","proto":"zigzag"}`, want: "FIELD_TYPE_CHANGED json", text: "int32 (zigzag)" + number + " and is int64 (zigzag)" + text},
		{old: scalar("int64"), now: scalar("int32"), want: "FIELD_TYPE_CHANGED json,protobuf", text: "int64" + text + " and is int32" + number},
		{old: list("int32"), now: list("int64"), want: "FIELD_TYPE_CHANGED json", text: "list of int32" + number + " and is list of int64" + text},
		{old: scalar("int64"), now: scalar("uint64"), want: "FIELD_TYPE_CHANGED json,protobuf", text: "int64 and is uint64"},
		{old: scalar("int64"), now: scalar("string"), want: "FIELD_TYPE_CHANGED json,protobuf", text: "int64 and is string"},
		{old: byKey("int32"), now: byKey("int64"), want: "FIELD_TYPE_WIDENED", text: "map of int32 to bool and is map of int64 to bool"},
		{old: scalar("int64"), now: scalar("int64"), origin: code, want: "FIELD_TYPE_CHANGED json", text: "int64" + text + " and is int64" + number},
		{old: byKey("int64"), now: byKey("int64"), origin: code},
	} {
		all := compare.Models(with(file, c.old), with(cmp.Or(c.origin, file), c.now))
		if c.want == "" {
			if len(all) > 0 {
				t.Errorf("%s: %+v", c.now, all)
			}
			continue
		}
		if len(all) != 1 || strings.TrimSpace(all[0].Rule+" "+strings.Join(all[0].Wires, ",")) != c.want || all[0].Text != "the field a of a.M was "+c.text {
			t.Errorf("%s to %s: %+v, want %s, %s", c.old, c.now, all, c.want, c.text)
		}
	}
}

// TestReserved: a number or a name that is reserved comes with a field of .proto files that is gone; it is not used again, and stays reserved.
func TestReserved(t *testing.T) {
	field := func(name string, number int) string {
		return fmt.Sprintf(`{"name":%q,"proto":%q,"number":%d,"type":{"kind":"string"}}`, name, name, number)
	}
	with := func(fields, reserved, values, ofEnum string) *schema.Model {
		if fields != "" {
			fields = "," + fields
		}
		return model(t, `"services":[{"name":"A","methods":[{"name":"X","kind":"unary","request":{"kind":"message","name":"a.M"},"reply":{"kind":"any"}}]}],
			"messages":[{"name":"a.M","package":"a","file":"a.proto","reserved":{`+reserved+`},"fields":[{"name":"e","proto":"e","number":1,"type":{"kind":"enum","name":"a.E"}}`+fields+`]}],
			"enums":[{"name":"a.E","package":"a","reserved":{`+ofEnum+`},"values":[{"name":"A","number":0}`+values+`]}]`)
	}
	const five, wide = `"numbers":[{"first":5,"last":5}],"names":["b"]`, `"numbers":[{"first":3,"last":9},{"first":20,"last":536870911}]`
	for _, c := range []struct {
		name, want    string
		before, after *schema.Model
	}{
		{"the same", "", with("", five, "", five), with("", five, "", five)},
		{"more", "", with("", "", "", ""), with("", five, "", five)},
		{"a field that is gone", "FIELD_REMOVED a.M.b", with(field("b", 5), "", "", ""), with("", five, "", "")},
		{"without the name", "FIELD_REMOVED a.M.b json", with(field("b", 5), "", "", ""), with("", wide, "", "")},
		{"without the number", "FIELD_REMOVED a.M.b protobuf", with(field("b", 5), "", "", ""), with("", `"names":["b"]`, "", "")},
		{"a value that is gone", "ENUM_VALUE_REMOVED a.E.B json", with("", "", `,{"name":"B","number":2}`, ""), with("", "", "", `"numbers":[{"first":-1,"last":2}],"names":["B"]`)},
		{"nothing is reserved any more", "RESERVED_REMOVED a.E protobuf; RESERVED_REMOVED a.E json; RESERVED_REMOVED a.M protobuf; RESERVED_REMOVED a.M json", with("", five, "", five), with("", "", "", "")},
		{"a part of a range", "RESERVED_REMOVED a.M protobuf; RESERVED_REMOVED a.M protobuf", with("", wide, "", ""), with("", `"numbers":[{"first":1,"last":4},{"first":6,"last":8},{"first":20,"last":536870911}]`, "", "")},
		{"the number of a field", "FIELD_NUMBER_REUSED a.M.c protobuf", with("", `"numbers":[{"first":5,"last":5}]`, "", ""), with(field("c", 5), "", "", "")},
		{"one of a range", "FIELD_NUMBER_REUSED a.M.c protobuf", with("", wide, "", ""), with(field("c", 5), `"numbers":[{"first":3,"last":4},{"first":6,"last":9},{"first":20,"last":536870911}]`, "", "")},
		{"the name of a field", "FIELD_NAME_REUSED a.M.b json", with("", `"names":["b"]`, "", ""), with(field("b", 6), "", "", "")},
		{"both", "FIELD_NUMBER_REUSED a.M.b protobuf; FIELD_NAME_REUSED a.M.b json", with("", five, "", ""), with(field("b", 5), "", "", "")},
		{"of a value", "ENUM_VALUE_NUMBER_REUSED a.E.b protobuf; ENUM_VALUE_NAME_REUSED a.E.b json", with("", "", "", five), with("", "", `,{"name":"b","number":5}`, "")},
	} {
		if got := text(compare.Models(c.before, c.after)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	got := compare.Models(with("", wide, "", ""), with("", `"numbers":[{"first":3,"last":8},{"first":20,"last":30}]`, "", ""))
	if len(got) != 2 || got[0].Text != "a.M does not reserve the number 9 any more" || got[1].Text != "a.M does not reserve the numbers 31 to 536870911 any more" {
		t.Errorf("%+v", got)
	}
	for _, wrong := range []string{`{"first":5,"last":4}`, `{"first":1,"last":4},{"first":4,"last":5}`} {
		text := `{"weft_schema":1,"services":[],"messages":[{"name":"a.M","reserved":{"numbers":[` + wrong + `]}}]}`
		if _, err := schema.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "a.M: the reserved numbers") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestCycles compares messages that contain themselves.
func TestCycles(t *testing.T) {
	type tree struct {
		Left, Right *tree
		Values      map[string][]tree
	}
	m := of[tree](t)
	if got := compare.Models(m, m); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// FuzzModels compares what comes from peers: no pair panics, and a model is equal to itself.
func FuzzModels(f *testing.F) {
	for _, text := range []string{
		`{"weft_schema":1,"services":[{"name":"A","methods":[{"name":"X","kind":"unary","request":{"kind":"message","name":"M"},"reply":{"kind":"map","key":{"kind":"string"},"elem":{"kind":"enum","name":"E"}}}]}],"messages":[{"name":"M","fields":[{"name":"a","number":1,"type":{"kind":"list","elem":{"kind":"message","name":"M"}}},{"name":"a","number":1,"type":{"kind":"array","elem":{"kind":"int64"}}}]}],"enums":[{"name":"E","values":[{"name":"A","number":0}]}]}`,
		`{"weft_schema":1,"services":[{"name":"A","methods":[{"name":"X","kind":"unary","request":{"kind":"bytes"},"reply":{"kind":"any"}}]}]}`,
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, errA := schema.Decode(a)
		after, errB := schema.Decode(b)
		if errA != nil || errB != nil {
			return
		}
		text(compare.Models(before, after))
	})
}

// TestChangeJSON keeps the names that programs read.
func TestChangeJSON(t *testing.T) {
	c := compare.Models(of[struct{ A, B int }](t), of[struct{ A int }](t))
	got, err := json.Marshal(c)
	if err != nil || !strings.HasPrefix(string(got), `[{"rule":"FIELD_REMOVED","category":"wire","wires":["json","messagepack","protobuf"],"at":"main.T.B","via":"the request of S.M","text":`) {
		t.Errorf("%s, %v", got, err)
	}
	if !c[0].Breaking() || slices.ContainsFunc(c, func(c compare.Change) bool { return c.Advice == "" }) {
		t.Errorf("%+v", c)
	}
}
