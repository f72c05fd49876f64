package calls

import (
	"reflect"
	"strings"
	"testing"
)

// TestThriftTypes makes types of Go for values of JSON with types of Thrift.
func TestThriftTypes(t *testing.T) {
	for _, test := range []struct{ text, kind, want, plain string }{
		{`6`, "", "int64", `6`},
		{`6.5`, "", "float64", `6.5`},
		{`6`, "i16", "int16", `6`},
		{`6`, "byte", "int8", `6`},
		{`true`, "", "bool", `true`},
		{`"a"`, "", "string", `"a"`},
		{`"AQI="`, "binary", "[]uint8", `"AQI="`},
		{`[1,2]`, "list<i32>", "[]int32", `[1,2]`},
		{`[]`, "set<string>", "[]string", `[]`},
		{`[[1],[2,3]]`, "list<list<i16>>", "[][]int16", `[[1],[2,3]]`},
		{`{"7":["a"]}`, "map<i32,list<string>>", "map[int32][]string", `{"7":["a"]}`},
		{`{"b":1,"a":"x"}`, "", "struct { F1 int64 \"json:\\\"b\\\" thrift:\\\"f1,1\\\"\"; F2 string \"json:\\\"a\\\" thrift:\\\"f2,2\\\"\" }", `{"a":"x","b":1}`},
		{`{"3:i32":1,"1:set<i64>":[4]}`, "", "struct { F3 int32 \"json:\\\"3\\\" thrift:\\\"f3,3\\\"\"; F1 []int64 \"json:\\\"1\\\" thrift:\\\"f1,1,set\\\"\" }", `{"1":[4],"3":1}`},
		{`{}`, "", "struct {}", `{}`},
	} {
		got, plain, err := thriftValue([]byte(test.text), test.kind)
		if err != nil || got.String() != test.want || string(plain) != test.plain {
			t.Errorf("%s as %q is a %v of %s, error %v; want a %s of %s", test.text, test.kind, got, plain, err, test.want, test.plain)
			continue
		}
		if _, err := (asThrift{}).request([]byte(`{"1":` + test.text + `}`)); test.kind == "" && err != nil {
			t.Errorf("%s in a request: %v", test.text, err)
		}
	}
	for text, want := range map[string]string{
		`{`:                             "no JSON",
		`null`:                          "null has no type",
		`{"1:int":6}`:                   "want bool, byte",
		`{"1:list<i32":[1]}`:            "want bool, byte",
		`{"1":6,"1:i32":7}`:             "twice",
		`{"1":6,"a":7}`:                 "numbers of all fields",
		`{"-1":6}`:                      "numbers of all fields",
		`{"1":[1,"a"]}`:                 "another type",
		`{"1:map<double,i32>":{"1":2}}`: "cannot be the key",
		`{"1:binary":"?"}`:              "illegal base64",
		`{"1:i8":300}`:                  "cannot unmarshal",
	} {
		if _, err := (asThrift{}).request([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want an error with %q", text, err, want)
		}
	}
	s, err := newThrift(`{"1:i32":0}`)
	if err != nil {
		t.Fatal(err)
	}
	reply := s.reply()
	reflect.ValueOf(reply).Elem().Field(0).SetInt(42)
	if text, err := s.show(reply); err != nil || string(text) != `{"1":42}` {
		t.Errorf("the reply is shown as %s, error %v", text, err)
	}
}
