package msgpack_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
)

type (
	// content is what weft generate makes of a union of Thrift.
	content struct {
		Text  *string  `thrift:"text,1,union"`
		Lists []string `thrift:"lists,2,union"`
		Sub   *content `thrift:"sub,3,union"`
	}
	// loose has the same fields and is none.
	loose struct {
		Text  *string
		Lists []string
		Sub   *loose
		More  *int
	}
	// member is a struct whose field has the name of the option.
	member struct {
		A *int `thrift:"union,1"`
		B *int `thrift:"b,2,optional"`
	}
)

// TestUnion: exactly one field of a union is sent, and several are refused, at any depth.
func TestUnion(t *testing.T) {
	c := msgpack.New()
	for name, v := range map[string]*content{
		"none":                  {},
		"two":                   {Text: new(""), Lists: []string{}},
		"none in another one":   {Sub: &content{}},
		"two in another one":    {Sub: &content{Text: new("a"), Lists: []string{"b"}}},
		"one, and another none": {Text: new("a"), Sub: &content{Text: new("b")}},
	} {
		for _, whole := range []any{v, []content{*v}, map[string]*content{"k": v}, struct{ C any }{v}} {
			if _, err := c.Append(nil, whole); err == nil || !strings.Contains(err.Error(), "fields of the union msgpack_test.content are set: set exactly one") {
				t.Errorf("%s in a %T: %v", name, whole, err)
			}
		}
	}
	if _, err := c.Append(nil, &member{new(1), new(2)}); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		from loose
		want *content // nil: it is refused
	}{
		"text":      {loose{Text: new("")}, &content{Text: new("")}},
		"a list":    {loose{Lists: []string{}}, &content{Lists: []string{}}},
		"a union":   {loose{Sub: &loose{Text: new("a")}}, &content{Sub: &content{Text: new("a")}}},
		"none":      {loose{}, &content{}},
		"a new one": {loose{More: new(1)}, &content{}},
		"two":       {loose{Text: new("a"), Lists: []string{}}, nil},
		"deeper":    {loose{Sub: &loose{Text: new("a"), Sub: &loose{}}}, nil},
	} {
		body, err := c.Append(nil, &test.from)
		if err != nil {
			t.Fatal(err)
		}
		got, used := new(content), &content{Text: new("x")}
		for _, err := range []error{c.Decode(body, got), c.(codec.Reuser).DecodeReuse(body, used)} {
			if refused := err != nil && strings.Contains(err.Error(), "2 fields of the union msgpack_test.content are set"); refused != (test.want == nil) || !refused && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if test.want != nil && (!reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(used, test.want)) {
			t.Errorf("%s: %+v, over an older one %+v", name, got, used)
		}
	}
}
